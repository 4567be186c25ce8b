#!/usr/bin/env bash
# Runs a command only while this node holds the lease of a group, with bash, curl and Linux.
#
#     examples/bash/with-lease.sh GROUP COMMAND [ARGUMENT…]
#
# The command has TENURE_GROUP and TENURE_TERM in its environment, and should send the term with each write. If the lease is
# lost, the command is stopped, and the script campaigns again. If the command exits, the lease is released, and the script
# exits with the same code. Settings: TENURE_SERVER, NODE_ID, TTL_MS, GRACE_MS.
#
# - The lease counts from before its request was sent, minus 1 %, on a clock that is never set (/proc/uptime).
# - At a fifth of the ttl before its end the command gets SIGTERM, at a twentieth SIGKILL, with its whole process group.
# - A guard, a second process, does the latter even if the script is killed or frozen: it learns each new deadline through a
#   pipe, and the end of the pipe shows that the script is gone.
# - The lease is renewed until no process of the command is left, then released.
#
# Prefer `tenure run GROUP -- COMMAND` where Node can be installed. It does the same, and more:
# - its guardian and itself watch each other, so either of them may be killed or frozen; here only the script may;
# - it uses several servers, TLS and credentials, and notices when the server of a waiting node is gone;
# - it has health checks and hooks, reports to systemd, serves /leader and /metrics, and does not need Linux.
set -u
# Each background job gets a process group of its own.
set -m

(($# >= 2)) || {
  echo "usage: $0 GROUP COMMAND [ARGUMENT…]" >&2
  exit 2
}
group=$1
shift
server=${TENURE_SERVER:-http://127.0.0.1:7420}
instance=$(< /proc/sys/kernel/random/uuid)
node=${NODE_ID:-$HOSTNAME-${instance:0:8}}
ttl=${TTL_MS:-5000}
grace=${GRACE_MS:-10000}
# How long one campaign waits in the server's queue.
queue=$((ttl < 2000 ? ttl / 2 : 1000))

now=0 term=0 last_term=0 deadline=0 status=0 answer='' lost='' stopping=''
trap 'stopping=1' TERM INT
# The guard may have ended when a deadline is sent to it.
trap : PIPE

say() { echo "$node $*" >&2; }

# Milliseconds since the machine was started, including suspend.
read_clock() {
  local up rest
  read -r up rest < /proc/uptime
  now=$((10#${up/./} * 10))
}

# Sends a request: VERB TIMEOUT_MS FIELDS. `status` is 000 if there was no answer.
ask() {
  local out url="$server/v1/groups/${group//\//%2F}/$1" timeout
  printf -v timeout '%d.%03d' $(($2 / 1000)) $(($2 % 1000))
  out=$(curl --silent --max-time "$timeout" --write-out '\n%{http_code}' --header 'Content-Type: application/json' \
    --data "{\"node_id\":\"$node\",\"instance_start_uuid\":\"$instance\",$3}" "$url")
  status=${out##*$'\n'} answer=${out%$'\n'*}
}

renew() {
  local sent
  read_clock
  sent=$now
  ask renew $((ttl / 3)) "\"term\":$term,\"extend_by_ms\":$ttl"
  if [[ $status == 200 ]]; then
    read_clock
    # After the deadline an answer gives nothing: the term is over.
    ((now < deadline)) || lost=1
    [[ $answer == *'"transfer_to"'* ]] && lost=1
    deadline=$((sent + ttl * 99 / 100))
  elif [[ $answer == *'"NOT_LEADER"'* ]]; then
    lost=1 deadline=0
  else
    return 1
  fi
}

# Succeeds if this node leads: `term` and `deadline` are set.
campaign() {
  local sent
  read_clock
  sent=$now
  ask campaign $((queue + ttl / 2)) "\"lease_ttl_ms\":$ttl,\"wait_ms\":$queue"
  case $status in
    200) ;;
    4[0-9][0-9])
      [[ $status == 409 || $status == 429 ]] || {
        say "was refused: $answer"
        exit 1
      }
      ;;
  esac
  if [[ $status != 200 || $answer != *'"is_leader":true'* ]]; then
    read_clock
    # Held back, or no answer: the next campaign is not sent sooner than after a full wait.
    ((now - sent >= queue)) || sleep 0.5
    return 1
  fi
  [[ $answer =~ \"term\":([0-9]+) ]] || return 1
  term=${BASH_REMATCH[1]} lost=''
  if ((term <= last_term)); then
    resign # This script has led that term before.
    return 1
  fi
  last_term=$term
  # The wait in the queue counts here, although not at the server. `hold` renews at once.
  deadline=$((sent + ttl * 99 / 100))
}

# Gives up when the lease has expired anyway.
resign() {
  local give_up
  read_clock
  give_up=$((now + ttl))
  while ((now < give_up)); do
    ask resign $((ttl / 5)) "\"term\":$term"
    [[ $status == 200 || $answer == *'"NOT_LEADER"'* ]] && return
    sleep 0.2
    read_clock
  done
}

# Kills the process group PID at the deadline, or when standard input ends. Reads new deadlines.
guard() {
  local pid=$1 until=$2 line='' part=''
  trap '' TERM INT HUP
  while :; do
    kill -0 -- "-$pid" 2> /dev/null || return
    if read -r -t 0.1 line; then
      until=$part$line part=''
    elif (($? > 128)); then
      part+=$line # The timeout came in the middle of a line.
    else
      break # The script is gone.
    fi
    read_clock
    ((now < until - ttl / 20)) || break
  done
  kill -KILL -- "-$pid" 2> /dev/null
}

# Runs the command and holds the lease until no process of the command is left.
hold() {
  local pid signalled=0 next pipe told
  TENURE_GROUP=$group TENURE_TERM=$term "$@" < /dev/null &
  pid=$!
  # Opened after the command has started, so that the command does not keep the pipe open.
  exec {pipe}> >(guard "$pid" "$deadline")
  told=$deadline
  next=0
  read_clock
  while kill -0 "$pid" 2> /dev/null; do
    if ((now >= next)); then
      renew && next=$((now + ttl / 5))
      ((told == deadline)) || { echo "$deadline" >&"$pipe"; } 2> /dev/null
      told=$deadline
    fi
    read_clock
    ((now < deadline - ttl / 5)) || lost=1
    if [[ ($stopping || $lost) && $signalled == 0 ]]; then
      kill -TERM -- "-$pid" 2> /dev/null
      signalled=$now
    fi
    if ((now >= deadline - ttl / 20 || signalled > 0 && now - signalled >= grace)); then
      kill -KILL -- "-$pid" 2> /dev/null
    fi
    sleep 0.1
    read_clock
  done
  # If the script was frozen, the guard has killed the command.
  ((now < deadline - ttl / 20)) || lost=1
  # What the command has left behind in its process group.
  while kill -KILL -- "-$pid" 2> /dev/null; do sleep 0.01; done
  exec {pipe}>&-
  wait "$pid" 2> /dev/null
}

until [[ $stopping ]]; do
  campaign || continue
  say "leads in term $term"
  hold "$@"
  code=$?
  resign
  say "no longer leads"
  [[ $lost ]] || exit "$code"
done
