# Listens on a Unix datagram socket, as systemd does, and prints each message on one line. Node has no such sockets; Perl is part of
# every Debian system.
use strict;
use warnings;
use Socket;

$| = 1;
my ($path) = @ARGV;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
bind($socket, pack_sockaddr_un($path)) or die "bind: $!";
print "listening\n";
while (defined(recv($socket, my $message, 65536, 0))) {
  $message =~ s/\n/|/g;
  print "$message\n";
}
