# Carries packets between TUN devices, late and with losses: what netem does where the kernel has it.
# Arguments: the names of the devices; the last number of a destination's address minus one is the index of its device. Lines on
# standard input set the links: DELAY_MS JITTER_MS LOSS, for one way. Ends with its standard input.
use strict;
use warnings;
use Fcntl;
use Time::HiRes qw(time);

use constant { TUNSETIFF => 0x400454ca, IFF_TUN => 0x0001, IFF_NO_PI => 0x1000 };

$| = 1;
my @tuns = map {
  sysopen(my $tun, "/dev/net/tun", O_RDWR) or die "/dev/net/tun: $!";
  ioctl($tun, TUNSETIFF, pack("a16 s x22", $_, IFF_TUN | IFF_NO_PI)) or die "$_: $!";
  $tun;
} @ARGV;
my ($delay, $jitter, $loss) = (0, 0, 0);
# For each direction the packets under way, in order, and when the last of them arrives.
my (%queues, %last);
my $input = "";
print "ready\n";

while (1) {
  my $read = "";
  vec($read, fileno($_), 1) = 1 for @tuns, \*STDIN;
  my $next;
  for my $queue (values %queues) {
    next unless @$queue;
    $next = $queue->[0][0] if !defined $next || $queue->[0][0] < $next;
  }
  my $now = time;
  my $wait = defined $next ? ($next > $now ? $next - $now : 0) : undef;
  my $ready = select($read, undef, undef, $wait);
  $now = time;
  if ($ready > 0) {
    if (vec($read, fileno(STDIN), 1)) {
      sysread(STDIN, $input, 4096, length $input) or exit 0;
      while ($input =~ s/^(\S+) (\S+) (\S+)\n//) {
        ($delay, $jitter, $loss) = ($1 / 1000, $2 / 1000, $3);
        print "set\n";
      }
    }
    for my $from (0 .. $#tuns) {
      next unless vec($read, fileno($tuns[$from]), 1);
      next unless sysread($tuns[$from], my $packet, 65536);
      next unless (ord($packet) >> 4) == 4;
      my $to = ord(substr($packet, 19, 1)) - 1;
      next if $to < 0 || $to > $#tuns || $to == $from || rand() < $loss;
      my $due = $now + $delay + $jitter * (2 * rand() - 1);
      # No packet overtakes another one.
      my $way = "$from $to";
      $due = $last{$way} if exists $last{$way} && $last{$way} > $due;
      $last{$way} = $due;
      push @{ $queues{$way} }, [$due, $to, $packet];
    }
  }
  for my $queue (values %queues) {
    while (@$queue && $queue->[0][0] <= $now) {
      my (undef, $to, $packet) = @{ shift @$queue };
      syswrite($tuns[$to], $packet);
    }
  }
}
