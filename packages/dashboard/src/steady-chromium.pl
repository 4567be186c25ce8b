#!/usr/bin/perl
# Chromium without netlink sockets, so that it hears nothing of network interfaces. When an address is added to the machine,
# Chromium ends its requests with ERR_NETWORK_CHANGED, those to 127.0.0.1 too, and other tests add addresses.
use strict;
use warnings;
use POSIX qw(uname);

use constant { PR_SET_NO_NEW_PRIVS => 38, PR_SET_SECCOMP => 22, SECCOMP_MODE_FILTER => 2, AF_NETLINK => 16, EAFNOSUPPORT => 97 };
use constant { LOAD => 0x20, JUMP_IF_EQUAL => 0x15, RETURN => 0x06, ERRNO => 0x00050000, ALLOW => 0x7fff0000 };
# Of struct seccomp_data: the number of the system call, and its first argument.
use constant { NUMBER => 0, FIRST => 16 };

my %calls = (x86_64 => { socket => 41, prctl => 157 }, aarch64 => { socket => 198, prctl => 167 });
my $machine = (uname())[4];
my $call = $calls{$machine} or die "$0: the system calls of $machine are not known here\n";

my @filter = (
  [LOAD, 0, 0, NUMBER],
  [JUMP_IF_EQUAL, 0, 3, $call->{socket}],
  [LOAD, 0, 0, FIRST],
  [JUMP_IF_EQUAL, 0, 1, AF_NETLINK],
  [RETURN, 0, 0, ERRNO | EAFNOSUPPORT],
  [RETURN, 0, 0, ALLOW],
);
my $filter = join "", map { pack("S C C L", @$_) } @filter;
my $program = pack("S x![P] P", scalar @filter, $filter);
syscall($call->{prctl}, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or die "$0: no new privileges: $!\n";
syscall($call->{prctl}, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, $program, 0, 0) == 0 or die "$0: the filter: $!\n";
exec "chromium", @ARGV or die "$0: chromium: $!\n";
