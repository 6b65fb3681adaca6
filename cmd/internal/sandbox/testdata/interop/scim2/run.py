"""Run scim2-tester against a SCIM server: run.py BASE_URL TOKEN.

Prints one line for each result, "STATUS<tab>title<tab>resource type<tab>reason", and does not set the exit code.
"""

import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server


def main() -> None:
    base, token = sys.argv[1:]
    http = httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    for result in check_server(SyncSCIMClient(http)):
        reason = " ".join((result.reason or "").split())
        print(result.status.name, result.title or "", result.resource_type or "", reason, sep="\t")


main()
