#!/usr/bin/perl
# Runs Chromium without sockets of AF_NETLINK. It would end all requests when any network interface gets or loses an address, as
# those of containers do (ERR_NETWORK_CHANGED). Refused these sockets, it takes the network as it is.
use strict;
use warnings;

# linux/audit.h, asm/unistd.h: the call `socket` of each architecture.
my %socket_call = (x86_64 => 41, aarch64 => 198);
my %prctl_call = (x86_64 => 157, aarch64 => 167);
my ($PR_SET_SECCOMP, $PR_SET_NO_NEW_PRIVS, $SECCOMP_MODE_FILTER) = (22, 38, 2);
my ($AF_NETLINK, $EAFNOSUPPORT) = (16, 97);

chomp(my $machine = `uname -m`);
if (my $socket = $socket_call{$machine}) {
  # struct sock_filter: code, jump if true, jump if false, operand
  my @filter = (
    [0x20, 0, 0, 0],                          # load the number of the call
    [0x15, 0, 3, $socket],                    # another than socket: allow
    [0x20, 0, 0, 16],                         # load its first argument
    [0x15, 0, 1, $AF_NETLINK],                # another family: allow
    [0x06, 0, 0, 0x00050000 | $EAFNOSUPPORT], # refuse
    [0x06, 0, 0, 0x7fff0000],                 # allow
  );
  my $code = join '', map { pack 'SCCL', @$_ } @filter;
  my $program = pack 'Sx6P', scalar @filter, $code; # struct sock_fprog
  for ([$PR_SET_NO_NEW_PRIVS, 1, 0], [$PR_SET_SECCOMP, $SECCOMP_MODE_FILTER, $program]) {
    syscall($prctl_call{$machine}, @$_, 0, 0) == 0 or die "prctl: $!\n";
  }
}
exec 'chromium', @ARGV or die "chromium: $!\n";
