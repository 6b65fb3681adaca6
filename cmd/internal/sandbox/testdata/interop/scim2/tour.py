"""Request every kind of response with the strict models of scim2-client: tour.py BASE_URL TOKEN HASTY_URL.

BASE_URL is a server of users, groups and devices, on which "me:ID" is the token of the user ID. HASTY_URL is one whose
cursors expire immediately and whose queries may match one resource. Prints one line for each step, "PASS<tab>name" or
"FAIL<tab>name<tab>reason", and does not set the exit code.
"""

import sys

import httpx2
from scim2_client import Me
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import BulkOperation, BulkRequest, Error, PatchOp, PatchOperation, ResponseParameters, SearchRequest
from scim2_models import ResourceType, Schema, ServiceProviderConfig

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
DEVICE = "urn:example:schemas:Device"
MESSAGE = "urn:ietf:params:scim:api:messages:2.0:"

steps = []


def step(function):
    steps.append(function)
    return function


def connect(base, token):
    http = httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    client = SyncSCIMClient(http)
    client.discover()
    return client


class Tour:
    def __init__(self, base, token, hasty):
        self.base, self.hasty_base, self.token = base, hasty, token
        self.client = connect(base, token)
        self.User = self.client.get_resource_model("User")
        self.Group = self.client.get_resource_model("Group")
        self.Device = self.client.get_resource_model("Device")

    def patch(self, model, *operations):
        return PatchOp[model](operations=[PatchOperation[model](**o) for o in operations])

    def error(self, status, scim_type, method, url, body=None, base=None, **headers):
        """Send a request that must fail, and decode the response as an Error."""
        client = self.client if base is None else connect(base, self.token)
        kwargs = {"json": body} if isinstance(body, dict) else {"content": body or b""}
        if body is not None:
            headers["Content-Type"] = "application/scim+json"
        response = client.request(method, url, headers=headers, **kwargs)
        assert response.status_code == status, (response.status_code, response.text)
        error = client.check_response(response.json(), response.status_code, response.headers, raise_scim_errors=False)
        assert isinstance(error, Error), error
        assert (error.status, error.scim_type, bool(error.detail)) == (status, scim_type, True), error
        return error


# Discovery


@step
def discovery_config(t):
    config = t.client.query(ServiceProviderConfig)
    assert isinstance(config, ServiceProviderConfig)
    assert config.patch.supported and config.bulk.supported and config.sort.supported and config.etag.supported


@step
def discovery_schemas(t):
    listed = t.client.query(Schema)
    ids = {s.id for s in listed.resources}
    assert {USER, GROUP, ENTERPRISE, DEVICE} <= ids, ids
    for id in ids:
        assert t.client.query(Schema, id).id == id


@step
def discovery_resource_types(t):
    listed = t.client.query(ResourceType)
    assert [r.id for r in listed.resources] == ["User", "Group", "Device"]
    for r in listed.resources:
        assert t.client.query(ResourceType, r.id) == r


# Resources


def full_user(t, name):
    return t.User.model_validate({
        "schemas": [USER, ENTERPRISE], "userName": name, "externalId": "x-" + name, "displayName": "The " + name, "nickName": "n", "title": "boss",
        "userType": "Employee", "preferredLanguage": "en-US", "locale": "en-US", "timezone": "America/Los_Angeles", "active": True,
        "password": "t1meMa$heen", "profileUrl": "https://login.example.com/" + name,
        "name": {"formatted": "A L", "familyName": "L", "givenName": "A", "middleName": "M", "honorificPrefix": "Ms.", "honorificSuffix": "III"},
        "emails": [{"value": name + "@example.com", "type": "work", "primary": True, "display": "d"}, {"value": name + "@home.example", "type": "home"}],
        "phoneNumbers": [{"value": "tel:+1-201-555-0123", "type": "work"}], "ims": [{"value": "aim", "type": "aim"}],
        "photos": [{"value": "https://photos.example.com/a.jpg", "type": "photo"}],
        "addresses": [{"type": "work", "streetAddress": "100 Universal City Plaza\nBox", "locality": "Hollywood", "region": "CA", "postalCode": "91608", "country": "US", "primary": True}],
        "entitlements": [{"value": "e"}], "roles": [{"value": "r", "primary": True}],
        ENTERPRISE: {"employeeNumber": "7", "costCenter": "4130", "organization": "O", "division": "D", "department": "P"},
    })


@step
def create_user(t):
    t.ann = t.client.create(full_user(t, "ann"))
    assert t.ann.id and t.ann.meta.version and t.ann.password is None
    assert t.ann.emails[0].primary is True and t.ann.external_id == "x-ann"


@step
def create_with_projection(t):
    response = t.client.request("POST", "/Users?attributes=userName", json={"schemas": [USER], "userName": "bob"})
    assert response.status_code == 201 and "meta" not in response.json()
    t.bob = t.client.query(t.User, response.json()["id"])


@step
def create_group(t):
    t.team = t.client.create(t.Group.model_validate({"schemas": [GROUP], "displayName": "team", "members": [{"value": t.ann.id}]}))
    assert t.team.members[0].value == t.ann.id and t.team.members[0].type == "User"


@step
def create_nested_group(t):
    t.outer = t.client.create(t.Group.model_validate({"schemas": [GROUP], "displayName": "outer", "members": [{"value": t.team.id}]}))
    assert t.outer.members[0].type == "Group"


@step
def create_device(t):
    t.device = t.client.create(t.Device.model_validate({
        "schemas": [DEVICE], "serial": "s1", "on": True, "weight": 1.5, "ports": 4, "bought": "2020-01-02T03:04:05Z", "notes": "n", "pin": "1234",
        "aliases": ["a", "b"], "disks": [{"name": "sda", "size": 5}]}))
    assert t.device.serial == "s1" and t.device.notes == "n" and t.device.pin is None and t.device.disks[0].size == 5


@step
def read(t):
    user = t.client.query(t.User, t.ann.id)
    assert {g.type for g in user.groups} == {"direct", "indirect"}
    assert t.client.query(t.Group, t.team.id).display_name == "team"
    assert t.client.query(t.Device, t.device.id).notes is None


@step
def read_projected(t):
    for parameters in (
        ResponseParameters[t.User](attributes=["userName", "name.givenName", ENTERPRISE + ":division"]),
        ResponseParameters[t.User](attributes=["emails"]),
        ResponseParameters[t.User](excluded_attributes=["emails.type", "groups", "meta", ENTERPRISE]),
    ):
        assert t.client.query(t.User, t.ann.id, query_parameters=parameters).id == t.ann.id
    asked = t.client.query(t.Group, t.team.id, query_parameters=ResponseParameters[t.Group](attributes=["members.display"]))
    assert asked.members[0].display == "The ann"
    assert t.client.query(t.Group, t.team.id, query_parameters=ResponseParameters[t.Group](excluded_attributes=["members"])).members is None


@step
def read_not_modified(t):
    user = t.client.query(t.User, t.ann.id)
    response = t.client.request("GET", f"/Users/{t.ann.id}", headers={"If-None-Match": user.meta.version})
    assert t.client.check_response(None, response.status_code, response.headers, [304]) is None


# Queries


@step
def lists(t):
    assert t.client.query(t.User).total_results == 2
    assert t.client.query(t.Group).total_results == 2
    assert t.client.query(t.Device).total_results == 1


@step
def list_at_the_root(t):
    everything = t.client.query()
    assert {type(r).__name__.split("[")[0] for r in everything.resources} == {"User", "Group", "Device"}, everything.resources


@step
def list_filtered(t):
    for filter, names in (('userName eq "ANN"', ["ann"]), ('emails[type eq "work" and value co "@"]', ["ann"]), ('not (title pr)', ["bob"]),
                          ('userName eq "nobody"', []), ('groups.value eq "%s"' % t.team.id, ["ann"])):
        found = t.client.query(t.User, query_parameters=SearchRequest[t.User](filter=filter))
        assert [u.user_name for u in found.resources or []] == names, filter


@step
def list_sorted(t):
    for order, names in (("ascending", ["ann", "bob"]), ("descending", ["bob", "ann"])):
        found = t.client.query(t.User, query_parameters=SearchRequest[t.User](sort_by="userName", sort_order=order))
        assert [u.user_name for u in found.resources] == names


@step
def list_paged(t):
    page = t.client.query(t.User, query_parameters=SearchRequest[t.User](start_index=2, count=1))
    assert (page.total_results, page.start_index, page.items_per_page) == (2, 2, 1)
    count = t.client.query(t.User, query_parameters=SearchRequest[t.User](count=0))
    assert count.total_results == 2 and not count.resources
    beyond = t.client.query(t.User, query_parameters=SearchRequest[t.User](start_index=99))
    assert beyond.total_results == 2 and not beyond.resources


@step
def list_by_cursor(t):
    first = t.client.query(t.User, query_parameters=SearchRequest[t.User](cursor="", count=1))
    assert first.next_cursor and not first.previous_cursor
    last = t.client.query(t.User, query_parameters=SearchRequest[t.User](cursor=first.next_cursor, count=1))
    assert last.previous_cursor and not last.next_cursor
    assert [first.resources[0].user_name, last.resources[0].user_name] == ["ann", "bob"]


@step
def search_at_an_endpoint(t):
    found = t.client.search(t.User, SearchRequest[t.User](filter='userName sw "a"', attributes=["userName"], count=5))
    assert [u.user_name for u in found.resources] == ["ann"] and found.resources[0].meta is None


@step
def search_at_the_root(t):
    found = t.client.search(search_request=SearchRequest(filter='displayName pr', sort_by="displayName", start_index=1, count=10))
    assert found.total_results == 3, found
    assert t.client.search(search_request=SearchRequest(cursor="", count=2)).next_cursor


# Changes


@step
def replace(t):
    user = t.client.query(t.User, t.bob.id)
    user.title = "chief"
    assert t.client.replace(user).title == "chief"
    device = t.client.query(t.Device, t.device.id)
    device.ports = 5
    assert t.client.replace(device).ports == 5


@step
def replace_group(t):
    group = t.client.query(t.Group, t.outer.id)
    group.display_name = "outside"
    assert t.client.replace(group).display_name == "outside"


@step
def patch_user(t):
    changed = t.client.modify(t.User, t.bob.id, t.patch(
        t.User, {"op": "add", "path": "emails", "value": [{"value": "b@example.com", "type": "work"}]},
        {"op": "replace", "path": "name.givenName", "value": "Bob"}, {"op": "remove", "path": "title"},
        {"op": "add", "path": ENTERPRISE + ":department", "value": "D"}, {"op": "replace", "path": 'emails[type eq "work"].value', "value": "c@example.com"}))
    assert changed.title is None and changed.name.given_name == "Bob" and changed.emails[0].value == "c@example.com"


@step
def patch_group_without_a_body(t):
    assert t.client.modify(t.Group, t.team.id, t.patch(t.Group, {"op": "add", "path": "members", "value": [{"value": t.bob.id}]})) is None
    assert len(t.client.query(t.Group, t.team.id).members) == 2


@step
def patch_group_with_a_body(t):
    body = {"schemas": [MESSAGE + "PatchOp"], "Operations": [{"op": "remove", "path": f'members[value eq "{t.bob.id}"]'}]}
    response = t.client.request("PATCH", f"/Groups/{t.team.id}?attributes=members,displayName", json=body)
    group = t.client.check_response(response.json(), response.status_code, response.headers, [200], [t.Group])
    assert [m.value for m in group.members] == [t.ann.id]


@step
def patch_device(t):
    changed = t.client.modify(t.Device, t.device.id, t.patch(t.Device, {"op": "replace", "path": 'disks[name eq "sda"].size', "value": 6}))
    assert changed.disks[0].size == 6


@step
def bulk(t):
    answer = t.client.bulk(BulkRequest[t.User | t.Group](operations=[
        BulkOperation[t.User](method="POST", path="/Users", bulk_id="u", data=t.User.model_validate({"schemas": [USER], "userName": "carl"})),
        BulkOperation[t.Group](method="POST", path="/Groups", bulk_id="g", data=t.Group.model_validate({"schemas": [GROUP], "displayName": "bulk", "members": [{"value": "bulkId:u"}]})),
        BulkOperation[t.User](method="PUT", path="/Users/" + t.bob.id, data=t.User.model_validate({"schemas": [USER], "userName": "bob"})),
        BulkOperation[t.User](method="POST", path="/Users", bulk_id="again", data=t.User.model_validate({"schemas": [USER], "userName": "ANN"})),
        BulkOperation[t.Group](method="DELETE", path="/Groups/" + t.outer.id),
        BulkOperation[t.Group](method="DELETE", path="/Groups/unknown"),
    ]))
    assert [int(o.status) for o in answer.operations] == [201, 201, 200, 409, 204, 404], answer
    assert answer.operations[3].response.scim_type == "uniqueness"


@step
def me(t):
    own = connect(t.base, "me:" + t.ann.id)
    assert own.query(Me).user_name == "ann"
    me = own.query(t.User, t.ann.id)
    me.nick_name = "An"
    assert own.replace(me).nick_name == "An"
    response = own.request("PATCH", "/Me", json={"schemas": [MESSAGE + "PatchOp"], "Operations": [{"op": "add", "path": "title", "value": "t"}]})
    assert own.check_response(response.json(), response.status_code, response.headers, [200], [t.User]).title == "t"


@step
def delete(t):
    assert t.client.delete(t.Device, t.device.id) is None
    t.error(404, None, "GET", f"/Devices/{t.device.id}")


# Errors of every kind


@step
def errors_of_each_scim_type(t):
    user, group = f"/Users/{t.ann.id}", f"/Groups/{t.team.id}"

    def change(*operations):
        return {"schemas": [MESSAGE + "PatchOp"], "Operations": list(operations)}

    t.error(409, "uniqueness", "POST", "/Users", {"schemas": [USER], "userName": "ANN"})
    t.error(400, "invalidFilter", "GET", "/Users?filter=userName")
    t.error(400, "invalidSyntax", "POST", "/Users", b'{"schemas":')
    t.error(400, "invalidValue", "POST", "/Users", {"schemas": [USER]})
    t.error(400, "invalidPath", "PATCH", user, change({"op": "add", "path": "emails[", "value": "x"}))
    t.error(400, "noTarget", "PATCH", user, change({"op": "replace", "path": 'emails[type eq "none"].value', "value": "x"}))
    t.error(400, "mutability", "PATCH", user, change({"op": "replace", "path": "id", "value": "x"}))
    t.error(400, "mutability", "PATCH", group, change({"op": "remove", "path": "displayName"}))
    t.error(400, "invalidVers", "GET", "/v9/Users")
    t.error(400, "invalidCursor", "GET", "/Users?cursor=nonsense")
    t.error(400, "invalidCount", "GET", "/Users?cursor=&count=ten")


@step
def errors_of_a_hasty_server(t):
    for name in ("one", "two"):
        response = t.client.request("POST", t.hasty_base + "/Groups", json={"schemas": [GROUP], "displayName": name})
        assert response.status_code == 201, response.text
    t.error(400, "tooMany", "GET", "/Groups", base=t.hasty_base)
    response = t.client.request("POST", t.hasty_base + "/Users", json={"schemas": [USER], "userName": "one"})
    assert response.status_code == 201, response.text
    page = t.client.request("GET", t.hasty_base + "/Users?cursor=&count=0").json()
    t.error(400, "expiredCursor", "GET", "/Users?count=1&cursor=" + page["nextCursor"], base=t.hasty_base)


@step
def errors_without_a_scim_type(t):
    user = f"/Users/{t.ann.id}"
    t.error(404, None, "GET", "/Users/unknown")
    t.error(404, None, "GET", "/Nothing")
    t.error(403, None, "GET", "/Schemas?filter=id+pr")
    t.error(405, None, "PUT", "/Users", {"schemas": [USER], "userName": "x"})
    t.error(406, None, "GET", "/Users", Accept="text/html")
    t.error(412, None, "DELETE", user, **{"If-Match": 'W/"999"'})
    t.error(413, None, "POST", "/Bulk", {"schemas": [MESSAGE + "BulkRequest"], "Operations": [{"method": "DELETE", "path": "/Users/x"}] * 1001})
    t.error(501, None, "GET", "/Me")
    t.error(401, None, "GET", "/Users", Authorization="Bearer wrong")


def main():
    tour = Tour(*sys.argv[1:])
    for function in steps:
        try:
            function(tour)
            print("PASS", function.__name__, sep="\t")
        except Exception as e:  # noqa: BLE001 - reported as a failed step
            notes = " ".join(getattr(e, "__notes__", []))
            print("FAIL", function.__name__, " ".join(f"{type(e).__name__}: {e} {notes}".split()), sep="\t")


main()
