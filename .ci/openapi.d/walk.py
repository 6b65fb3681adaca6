"""Provisions a user with the client that .ci/openapi generates, and reads the state and the account."""
import datetime
import os
import sys

import httpx
from client import AuthenticatedClient
from client.api.apps import put_app
from client.api.engine import get_principal, wait_for_principal
from client.api.tokens import show_caller
from client.api.users import get_user, put_user
from client.models import App, Target, User, UserResource, UserWant

api = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["ENGINE_TOKEN"], raise_on_unexpected_status=True)


def done(response):
    """Returns the parsed body of a successful response."""
    if response.status_code >= 300:
        sys.exit(f"{response.status_code}: {response.content.decode()}")
    return response.parsed


assert "fleet" in done(show_caller.sync_detailed(client=api)).scopes
target = {"baseUrl": os.environ["CRM_URL"], "auth": {"secret": os.environ["CRM_TOKEN"]},
          "createUsers": True, "updateUsers": True, "deactivateUsers": True}
# The generator demands the read-only members in requests, too; the daemon ignores them.
now = datetime.datetime.now(datetime.timezone.utc)
read_only = {"changed_at": now, "id": ""}
app = App(target=Target.from_dict(target), version=1, has_credentials=False, **read_only)
done(put_app.sync_detailed("crm", client=api, body=app))

ann = UserResource.from_dict({"userName": "ann@example.com", "name": {"familyName": "Lee"}})
user = User(version=1, want=UserWant.ACTIVE, resource=ann, has_password=False, **read_only)
done(put_user.sync_detailed("crm", "u-1", client=api, body=user))
done(wait_for_principal.sync_detailed("crm", "user", "u-1", client=api))
state = done(get_principal.sync_detailed("crm", "user", "u-1", client=api)).state
stored = done(get_user.sync_detailed("crm", "u-1", client=api))
assert (str(state.status), stored.version) == ("clean", 1), (state.status, stored.version)

# The state has the id of the account on the target.
account = httpx.get(f'{os.environ["CRM_URL"]}/Users/{state.remote_id}', headers={"Authorization": "Bearer " + os.environ["CRM_TOKEN"]})
assert account.json()["userName"] == "ann@example.com", account.text

# An older version and an unknown app are errors with a code.
user.version = 0
for response, status in ((put_user.sync_detailed("crm", "u-1", client=api, body=user), 400), (get_user.sync_detailed("none", "u-1", client=api), 404)):
    assert (response.status_code, bool(response.parsed.error_code)) == (status, True), response
print("the account", state.remote_id, "is", state.status)
