"""A small SCIM server: users and groups in memory. Start it with: python3 server.py PORT TOKEN"""
import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

PORT, TOKEN = int(sys.argv[1]), sys.argv[2]
BASE = f"http://127.0.0.1:{PORT}/scim/v2"
CORE = "urn:ietf:params:scim:schemas:core:2.0:"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0:"
NAME = {"Users": "userName", "Groups": "displayName"}  # the required attribute of each resource type
STORE = {"Users": {}, "Groups": {}}


class Problem(Exception):
    def __init__(self, status, detail, scim_type=None):
        self.body = {"schemas": [MESSAGES + "Error"], "status": str(status), "detail": detail}
        self.status = status
        if scim_type:
            self.body["scimType"] = scim_type


def matches(resource, text):
    """Reports whether a resource matches a filter such as userName eq "ann"."""
    found = re.fullmatch(r'\s*([\w.:]+)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*', text, re.I)
    if not found:
        raise Problem(400, "only filters with one eq are supported", "invalidFilter")
    name, want = found.group(1).split(":")[-1], json.loads(found.group(2))
    value = resource
    for part in name.split("."):
        value = get(value, part)
    return value == want


def get(resource, name):
    return next((v for k, v in resource.items() if k.lower() == name.lower()), None) if isinstance(resource, dict) else None


def put(resource, name, value):
    key = next((k for k in resource if k.lower() == name.lower()), name)
    if isinstance(value, list):
        value = [element for i, element in enumerate(value) if element not in value[:i]]
    if value is None or value == []:
        resource.pop(key, None)
    else:
        resource[key] = value


def apply(resource, operation):
    """Applies one operation of a PATCH: paths such as active, name.givenName and emails[type eq "work"].value."""
    op, path, value = operation.get("op", "").lower(), operation.get("path"), operation.get("value")
    if op not in ("add", "replace", "remove"):
        raise Problem(400, f"unknown operation {op!r}", "invalidSyntax")
    if not path:
        raise Problem(400, "an operation requires a path", "noTarget")
    parsed = re.fullmatch(r"(?:urn:[\w:.]+:)?(\w+)(?:\[(.+)\])?(?:\.(\w+))?", path)
    if not parsed:
        raise Problem(400, f"invalid path {path!r}", "invalidPath")
    name, chosen, sub = parsed.groups()
    old = get(resource, name)
    if chosen:
        elements = [e for e in old or [] if matches(e, chosen)]
        if op == "remove" and not sub:
            put(resource, name, [e for e in old or [] if e not in elements])
        elif not elements and op != "remove":
            kind = re.search(r'"(.*)"', chosen).group(1)
            put(resource, name, (old or []) + [{"type": kind, sub or "value": value}])
        for element in elements:
            if sub:
                put(element, sub, None if op == "remove" else value)
            elif op != "remove":
                element.update(value)
    elif sub:
        inner = dict(old or {})
        put(inner, sub, None if op == "remove" else value)
        put(resource, name, inner or None)
    elif op == "remove":
        gone = [e.get("value") for e in value] if isinstance(value, list) else None
        put(resource, name, [e for e in old or [] if e.get("value") not in gone] if gone else None)
    elif op == "add" and isinstance(old, list):
        values = value if isinstance(value, list) else [value]
        put(resource, name, old + values)
    else:
        put(resource, name, value)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # each response is one packet

    def handle_request(self):
        try:
            size = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(size)
            if self.headers.get("Authorization") != "Bearer " + TOKEN:
                raise Problem(401, "wrong token")
            url = urlsplit(self.path)
            parts = [unquote(p) for p in url.path.removeprefix("/scim/v2/").split("/") if p]
            query = {k.lower(): v[0] for k, v in parse_qs(url.query).items()}
            try:
                body = json.loads(raw) if raw else {}
            except ValueError:
                raise Problem(400, "the body is not JSON", "invalidSyntax") from None
            status, answer = self.answer(parts, query, body)
        except Problem as problem:
            status, answer = problem.status, problem.body
        except Exception as error:
            status, answer = 500, Problem(500, repr(error)).body
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if answer is not None:
            self.send_header("Content-Type", "application/scim+json")
        if status == 201:
            self.send_header("Location", answer["meta"]["location"])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

    def answer(self, parts, query, body):
        if parts == ["ServiceProviderConfig"] and self.command == "GET":
            no = {"supported": False}
            return 200, {"schemas": [CORE.replace("core:2.0:", "core:2.0:ServiceProviderConfig")],
                         "patch": {"supported": True}, "filter": {"supported": True, "maxResults": 200}, "sort": no, "etag": no,
                         "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0}, "changePassword": no,
                         "authenticationSchemes": [{"type": "oauthbearertoken", "name": "Bearer token", "description": "A fixed token"}]}
        if not parts or parts[0] not in STORE or len(parts) > 2:
            raise Problem(404, "no such endpoint")
        kind, store = parts[0], STORE[parts[0]]
        if len(parts) == 1:
            if self.command == "POST":
                return 201, self.shown(kind, self.save(kind, body, uuid.uuid4().hex), query)
            if self.command == "GET":
                return 200, self.list(kind, query)
            raise Problem(405, "only GET and POST")
        resource = store.get(parts[1])
        if resource is None:
            raise Problem(404, f"no resource {parts[1]} in {kind}")
        if self.command == "DELETE":
            del store[parts[1]]
            return 204, None
        if self.command == "PATCH":
            changed = json.loads(json.dumps(resource))
            for operation in body.get("Operations", []):
                apply(changed, operation)
            body = changed
        if self.command in ("PUT", "PATCH"):
            resource = self.save(kind, body, parts[1])
        elif self.command != "GET":
            raise Problem(405, "only GET, PUT, PATCH and DELETE")
        return 200, self.shown(kind, resource, query)

    def save(self, kind, body, id):
        name = get(body, NAME[kind])
        if not isinstance(name, str) or not name:
            raise Problem(400, f"{NAME[kind]} is required", "invalidValue")
        resource = {"schemas": [CORE + kind[:-1]], **body, "id": id}
        for hidden in ("meta", "password"):
            resource.pop(hidden, None)
        if kind == "Users":
            if any(user["userName"] == name and user["id"] != id for user in STORE[kind].values()):
                raise Problem(400, f"{name} already exists", "uniqueness")
            resource.pop("groups", None)
            resource.setdefault("active", True)
        STORE[kind][id] = resource
        return resource

    def shown(self, kind, resource, query):
        hidden = query.get("excludedattributes", "").split(",")
        shown = {k: v for k, v in resource.items() if k not in hidden}
        return {**shown, "meta": {"resourceType": kind[:-1], "location": f"{BASE}/{kind}/{resource['id']}"}}

    def list(self, kind, query):
        found = [r for r in STORE[kind].values() if "filter" not in query or matches(r, query["filter"])]
        start, count = max(int(query.get("startindex", 1)), 1), min(max(int(query.get("count", 100)), 0), 200)
        page = [self.shown(kind, r, query) for r in found[start - 1:start - 1 + count]]
        return {"schemas": [MESSAGES + "ListResponse"], "totalResults": len(found), "startIndex": start,
                "itemsPerPage": len(page), "Resources": page}

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    print(f"SCIM server at {BASE}", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
