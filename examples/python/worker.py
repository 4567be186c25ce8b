"""A worker in Python that acts only while it leads, with lease.py and the standard library.

    node examples/dist/fenced-resource.js 8081
    RESOURCE=http://127.0.0.1:8081 python3 examples/python/worker.py a     # and b in another terminal

SIGTERM ends the work, then releases the lease: the other worker continues at once.
"""

import os
import signal
import sys
import time
import urllib.error
import urllib.request

from lease import Lease

GROUP = "python-worker"
stopping = False


def main():
    node = sys.argv[1] if len(sys.argv) > 1 else None
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    lease = Lease(os.environ.get("TENURE_SERVER", "http://127.0.0.1:7420"), GROUP, node)
    while not stopping:
        if not lease.campaign(wait=1.0):
            continue
        print(f"{lease.node} leads in term {lease.term}", flush=True)
        with lease:
            while lease.left() > 0 and not stopping:
                act(lease)
                time.sleep(0.1)
        print(f"{lease.node} no longer leads", flush=True)
    print(f"{lease.node} has stopped", flush=True)


def act(lease):
    """A short act with the term: the resource refuses it once a later term has acted."""
    url = f"{os.environ.get('RESOURCE', 'http://127.0.0.1:8081')}/{GROUP}/{lease.node}"
    headers = {"Tenure-Group": GROUP, "Tenure-Term": str(lease.term)}
    request = urllib.request.Request(url, method="POST", headers=headers)
    timeout = lease.left()
    if timeout <= 0:
        return
    try:
        urllib.request.urlopen(request, timeout=timeout).close()
    except urllib.error.HTTPError as error:
        print(f"{lease.node} was refused in term {lease.term}: {error.code}", flush=True)
    except OSError as error:
        print(f"{lease.node} failed: {error}", flush=True)


def stop(*_):
    global stopping
    stopping = True


if __name__ == "__main__":
    main()
