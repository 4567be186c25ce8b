"""A client of Tenure for Python: holds the lease of a group, with the standard library only.

    lease = Lease("http://127.0.0.1:7420", "billing")
    while not stopping:
        if not lease.campaign(wait=1.0):
            continue  # Another node leads.
        with lease:  # Renews in a thread; releases the lease at the end.
            while lease.left() > 0 and not stopping:
                act(term=lease.term, timeout=lease.left())

- `left()` is 0 before any other node can lead. The lease counts from the moment before its request was sent, because the
  server counts from a later one, and it is 1 % shorter than the ttl, because the rates of two clocks may differ by that. The
  clock is never set and also runs while the machine is suspended. The last tenth of the ttl is left for an act to end.
- An act must end within `left()`: pass it as the timeout. Nothing can stop a process that freezes between `left()` and the
  act, so send `lease.term` with each write, and let the receiver refuse a term that is lower than one it has seen.
- A server that does not answer changes nothing: the lease lasts until its deadline, and the next renewal uses the next server.
- A term that is over is never continued, even if the answer to a renewal arrives later.
- The lease is renewed until the work has ended, then released, so that the next node does not wait for the ttl.

Check `left()` often: Python cannot interrupt a call that blocks. A lease that was won by a campaign whose answer was lost is
confirmed by the next campaign, or expires.
"""

import http.client
import json
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

DRIFT = 0.01
MARGIN = 0.1
TEMPORARY = (409, 429, 500, 502, 503, 504)


def now():
    """Seconds, on a clock that is never set and runs through suspend (on Linux: CLOCK_BOOTTIME)."""
    clock = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Refused(Exception):
    """The server refused the request; docs/ERRORS.md documents `code`."""

    def __init__(self, status, body):
        super().__init__(body.get("message") or f"status {status}")
        self.status = status
        self.code = body.get("error")


class Lease:
    """`servers`: comma-separated URLs of the servers of one service. `ttl`: in seconds."""

    def __init__(self, servers, group, node=None, ttl=5.0, token=None):
        self.node = node or f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
        self.term = None
        self._servers = [server.rstrip("/") for server in servers.split(",")]
        self._group = urllib.parse.quote(group, safe="")
        self._ttl = ttl
        self._token = token
        # New at each start: a restarted program is not the one that held the lease.
        self._instance = str(uuid.uuid4())
        self._lock = threading.Lock()
        self._deadline = 0.0
        self._is_over = True
        self._last_term = 0
        self._has_ended = threading.Event()
        self._renewer = None

    def campaign(self, wait=0.0):
        """Returns whether this node leads now; waits in the server's queue for up to `wait` seconds.

        The wait counts against the lease here, although not at the server, so it is at most half the ttl.
        """
        wait = min(wait, self._ttl / 2)
        sent = now()
        try:
            body = {"lease_ttl_ms": int(self._ttl * 1000), "wait_ms": int(wait * 1000)}
            answer = self._ask("campaign", body, timeout=wait + self._ttl / 2)
        except (Refused, OSError) as error:
            if isinstance(error, Refused) and error.status not in TEMPORARY:
                raise
            time.sleep(self._ttl / 5)
            return False
        if not answer["is_leader"]:
            if now() - sent < wait or wait == 0:
                time.sleep(min(1.0, answer["retry_after_ms"] / 1000))
            return False
        self.term = answer["leader"]["term"]
        with self._lock:
            self._deadline = sent + self._ttl * (1 - DRIFT)
            # A term that this process has led before is over, even if no resignation has reached the server yet.
            self._is_over = self.term <= self._last_term
        self._last_term = max(self._last_term, self.term)
        if self.left() > 0:
            return True
        self.resign()
        return False

    def left(self):
        """For how many seconds this node may act; 0 if it does not lead."""
        with self._lock:
            left = self._deadline - self._ttl * MARGIN - now()
            self._is_over = self._is_over or left <= 0
            return 0.0 if self._is_over else left

    def __enter__(self):
        self._has_ended.clear()
        self._renewer = threading.Thread(target=self._keep, name="tenure-lease", daemon=True)
        self._renewer.start()
        return self

    def __exit__(self, *_):
        self._has_ended.set()
        self._renewer.join()
        self.resign()

    def resign(self):
        """Releases the lease after the work has ended. Gives up when the lease has expired anyway."""
        term, self.term = self.term, None
        give_up = now() + self._ttl
        with self._lock:
            self._is_over = True
        while term is not None and now() < give_up:
            try:
                self._ask("resign", {"term": term}, timeout=self._ttl / 5)
                return
            except Refused as refused:
                if refused.code == "NOT_LEADER":
                    return
            except OSError:
                pass
            time.sleep(self._ttl / 20)

    def _keep(self):
        pause = 0.0
        while not self._has_ended.wait(pause):
            pause = self._ttl / 5 if self._renew() else self._ttl / 20

    def _renew(self):
        sent = now()
        try:
            body = {"term": self.term, "extend_by_ms": int(self._ttl * 1000)}
            answer = self._ask("renew", body, timeout=self._ttl / 3)
        except Refused as refused:
            # Any other refusal may be temporary, and the lease lasts until its deadline.
            if refused.code == "NOT_LEADER":
                with self._lock:
                    self._is_over = True
            return False
        except OSError:
            return False
        with self._lock:
            # Too late: the term was over before this answer came. Or another node is to take over.
            self._is_over = self._is_over or now() >= self._deadline or "transfer_to" in answer
            self._deadline = max(self._deadline, sent + self._ttl * (1 - DRIFT))
        return True

    def _ask(self, verb, body, timeout):
        body = {"node_id": self.node, "instance_start_uuid": self._instance, **body}
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        url = f"{self._servers[0]}/v1/groups/{self._group}/{verb}"
        request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                self._use_next_server()
            raise Refused(error.code, body_of(error)) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            self._use_next_server()
            raise OSError(f"no answer: {error}") from error

    def _use_next_server(self):
        self._servers = self._servers[1:] + self._servers[:1]


def body_of(error):
    try:
        return json.load(error)
    except (OSError, ValueError, http.client.HTTPException):
        return {}
