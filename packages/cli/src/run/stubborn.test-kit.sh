#!/bin/sh
# A command that nobody can talk to, with a grandchild like it. Says so if anything of an earlier one is alive.
trap '' TERM INT HUP
directory=$1
for pid in $(cat "$directory"/pids.* 2>/dev/null); do
  case $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) in
    '' | Z | X) ;;
    *) echo "overlap $pid in term $TENURE_TERM" >>"$directory/overlaps" ;;
  esac
done
echo $$ >"$directory/pids.$$"
sh -c "trap '' TERM INT HUP; echo \$\$ >>'$directory/pids.$$'; while :; do sleep 1000; done" &
while [ "$(wc -l <"$directory/pids.$$")" -lt 2 ]; do :; done
echo "running $TENURE_TERM"
while :; do sleep 1000; done
