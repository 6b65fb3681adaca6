"""An identity provider that provisions two apps through the daemon of scimwright. README.md explains the environment variables."""
import itertools
import json
import os
import time
import urllib.error
import urllib.request

ENGINE, TOKEN = os.environ["ENGINE_URL"], os.environ["ENGINE_TOKEN"]
APPS = {n: (os.environ[n.upper() + "_URL"], os.environ[n.upper() + "_TOKEN"]) for n in os.environ.get("APPS", "crm,wiki").split(",")}
VERSIONS = itertools.count(int(time.time() * 1000))  # ascends over all runs; with a database, use a sequence or a revision


def call(method, path, body=None):
    """Sends a request to the daemon. All writes have a version, so a write that failed can be repeated unchanged."""
    lines = isinstance(body, list)  # a batch: one JSON object in each line
    data = "\n".join(map(json.dumps, body)) if lines else json.dumps(body)
    request = urllib.request.Request(ENGINE + path, method=method, data=None if body is None else data.encode())
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", "application/x-ndjson" if lines else "application/json")
    try:
        with urllib.request.urlopen(request, timeout=90) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}")


def user(name, family, want="active"):
    resource = {"userName": name + "@example.com", "externalId": name, "name": {"givenName": name.title(), "familyName": family}}
    return {"version": next(VERSIONS), "want": want, "resource": resource}


def target(url, secret):
    allowed = dict.fromkeys(["pushGroups", "createUsers", "updateUsers", "deactivateUsers"], True)
    return {"baseUrl": url, "auth": {"secret": secret}, **allowed}


def show(app):
    """Waits until nothing is pending and prints the states of the users and groups."""
    lag = call("POST", f"/apps/{app}/wait?timeoutSeconds=60")["lag"]
    print(f"{app}: pending {lag['due']}, failed {lag['failed']}, blocked {lag['held']}")
    for principal in call("GET", f"/apps/{app}/principals"):
        state = principal["state"]
        print(f"  {principal['kind']} {principal['id']}: {state['want']}, {state['status']} after {state['operation']}")


for app, (url, secret) in APPS.items() if __name__ == "__main__" else ():  # pull.py imports the functions above
    call("PUT", f"/apps/{app}", {"version": next(VERSIONS), "target": target(url, secret)})
    batch = [{"op": "putUser", "id": name, **user(name, family)} for name, family in [("ann", "Lee"), ("bob", "Ray"), ("eve", "Fox")]]
    batch.append({"op": "putGroup", "id": "sales", "version": next(VERSIONS), "want": "active", "displayName": "Sales"})
    members = next(VERSIONS)
    batch.append({"op": "putMembers", "id": "sales", "version": members, "members": ["ann", "eve"]})
    report = call("POST", f"/apps/{app}/batch", batch)
    print(f"{app}: {report['applied']} of {report['lines']} lines applied, {report['failed']} failed")
    show(app)
    call("PUT", f"/apps/{app}/users/bob", user("bob", "Stone"))  # a change
    call("PUT", f"/apps/{app}/users/eve", user("eve", "Fox", want="inactive"))  # a deactivation
    call("PATCH", f"/apps/{app}/groups/sales/members", {"base": members, "version": next(VERSIONS), "add": ["bob"], "remove": ["eve"]})
    show(app)
