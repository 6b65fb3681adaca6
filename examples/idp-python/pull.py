"""An identity provider that the daemon queries for the desired state (pull). README.md explains the environment variables."""
import base64
import hmac
import http.server
import json
import os
import threading
import time

from idp import APPS, VERSIONS, call, show, target

KEY = os.urandom(32)  # a real identity provider stores it
USERS = {"ann": ("Lee", "active"), "bob": ("Ray", "active"), "eve": ("Fox", "active")}
SALES = {"ann", "eve"}


def query(path, q):
    """Returns the response to a query of the daemon. q has the app and, except for /principals, the id of the user or group."""
    if path == "/user":
        family, state = USERS.get(q["id"], ("", "absent"))
        name = {"givenName": q["id"].title(), "familyName": family}
        return {"state": state, "resource": {"userName": q["id"] + "@example.com", "externalId": q["id"], "name": name}}
    if path == "/group":
        return {"state": "active", "displayName": "Sales"}
    if path == "/is-member":
        return {"members": {user: user in SALES for user in q["users"]}}
    ids = sorted(SALES if path == "/members" else USERS if q["kind"] == "user" else ["sales"])
    page = [i for i in ids if i > q["after"]][:q["limit"]]
    out = {"members": page, "total": len(ids)} if path == "/members" else {"kind": q["kind"], "ids": page}
    return out | {"more": page != [] and page[-1] != ids[-1]}


class Endpoint(http.server.BaseHTTPRequestHandler):
    log_message = lambda *_: None
    def do_POST(self):
        body, h = self.rfile.read(int(self.headers["Content-Length"])), self.headers
        signed = hmac.digest(KEY, f"{h['webhook-id']}.{h['webhook-timestamp']}.".encode() + body, "sha256")
        valid = any(hmac.compare_digest(s, "v1," + base64.b64encode(signed).decode()) for s in h["webhook-signature"].split())
        self.send_response(200 if valid and abs(time.time() - int(h["webhook-timestamp"])) < 300 else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if valid:
            q = json.loads(body)
            self.wfile.write(json.dumps({k: q[k] for k in ("app", "id") if k in q} | query(self.path, q)).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()
pull = {"url": f"http://127.0.0.1:{server.server_port}", "secrets": ["whsec_" + base64.b64encode(KEY).decode()]}
for app, (url, secret) in APPS.items():
    call("PUT", f"/apps/{app}", {"version": next(VERSIONS), "target": target(url, secret), "pull": pull})
    call("POST", f"/apps/{app}/reconcile")  # marks all users and groups that the endpoint lists
    show(app)
USERS |= {"bob": ("Stone", "active"), "eve": ("Fox", "inactive")}
SALES ^= {"bob", "eve"}
for app in APPS:
    marks = [{"kind": "user", "id": "bob"}, {"kind": "user", "id": "eve"}, {"kind": "group", "id": "sales", "members": ["bob", "eve"]}]
    call("POST", f"/apps/{app}/marks", {"marks": marks})
    show(app)
