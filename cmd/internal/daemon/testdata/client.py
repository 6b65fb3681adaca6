"""A client for tests: it provisions one app in each round, by the functions of examples/idp-python/idp.py, while the daemon is killed.

Each line of the input is the id of an app and the base URL of its target. The output has one line for each: the events that the client
has read by the cursor, as JSON.
"""
import http.client
import json
import sys
import time

from idp import call


def insist(method, path, body=None):
    """Repeats a request unchanged until it is acknowledged, as idp.py says."""
    for _ in range(3000):
        try:
            return call(method, path, body)
        except (OSError, http.client.HTTPException, ValueError):  # no response, or an incomplete one
            pass
        except SystemExit as error:  # a response with an error
            if not any(f": {status} " in str(error) for status in ("429", "500", "502", "503", "504")):
                raise
        time.sleep(0.02)
    raise SystemExit(f"{method} {path}: no response")


def user(version, name, family, want="active"):
    return {"version": version, "want": want, "resource": {"userName": name, "externalId": name, "name": {"familyName": family}}}


def follow(app, events):
    """Appends the events after the last one."""
    while True:
        page = insist("GET", f"/apps/{app}/events?after={events[-1]['seq'] if events else 0}&limit=3")
        if not page:
            return
        events += page


def settle(app, events):
    insist("POST", f"/apps/{app}/wait?timeoutSeconds=60")
    follow(app, events)


def play(app, url):
    events = []
    allowed = dict.fromkeys(["pushGroups", "createUsers", "updateUsers", "deactivateUsers"], True)
    target = {"baseUrl": url, "auth": {"secret": "t0k3n"}, "concurrency": 1, **allowed}
    insist("PUT", f"/apps/{app}", {"version": 1, "target": target})
    batch = [{"op": "putUser", "id": name, **user(1, name, "A")} for name in ("ann", "bob", "eve")]
    batch.append({"op": "putGroup", "id": "sales", "version": 1, "want": "active", "displayName": "Sales"})
    batch.append({"op": "putGroup", "id": "temp", "version": 1, "want": "active", "displayName": "Temp"})
    batch.append({"op": "putMembers", "id": "sales", "version": 1, "members": ["ann", "eve"]})
    report = insist("POST", f"/apps/{app}/batch", batch)
    assert report["failed"] + report["stale"] == 0, report
    settle(app, events)
    insist("PUT", f"/apps/{app}/users/bob", user(2, "bob", "B"))
    insist("PUT", f"/apps/{app}/users/eve", user(2, "eve", "A", want="inactive"))
    insist("PATCH", f"/apps/{app}/groups/sales/members", {"base": 1, "version": 2, "add": ["bob"], "remove": ["eve"]})
    insist("DELETE", f"/apps/{app}/groups/temp?version=2&deleteRemote=true")
    settle(app, events)
    insist("PUT", f"/apps/{app}/users/ann", user(2, "ann", "C"))
    insist("PUT", f"/apps/{app}/groups/sales", {"version": 2, "want": "active", "displayName": "Vertrieb"})
    settle(app, events)
    return events


for line in sys.stdin:
    print(json.dumps(play(*line.split())), flush=True)
