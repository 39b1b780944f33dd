"""Lists what stands in the object store behind the gate, as its own people would: names, types and sizes.

    look.py URL BUCKET REGION CREDENTIALS [--fetch FOLDER]     with --fetch every object becomes a file of the folder, too

The gate takes signed addresses alone, so every object is fetched by one that boto3 has signed. Without its
signature, and with another expiry, the same address has to be refused.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request

import boto3
from botocore.config import Config

url, bucket, region, credentials = sys.argv[1:5]
key, secret = pathlib.Path(credentials).read_text().split()
store = boto3.client("s3", endpoint_url=url, region_name=region, aws_access_key_id=key, aws_secret_access_key=secret,
                     config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
with urllib.request.urlopen(url + "/gate", timeout=30) as response:
    names = json.load(response)["objects"]
statuses = set()
for number, name in enumerate(names):
    address = store.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": name}, ExpiresIn=60)
    with urllib.request.urlopen(address, timeout=30) as response:
        content, kind = response.read(), response.headers["Content-Type"]
    print(f"  {name}  {kind}  {len(content):,} bytes")
    if sys.argv[5:6] == ["--fetch"]:
        folder = pathlib.Path(sys.argv[6])
        folder.mkdir(exist_ok=True)
        (folder / str(number)).write_bytes(content)
    for changed in (address.split("?")[0], address.replace("X-Amz-Expires=60", "X-Amz-Expires=6000")):
        try:
            urllib.request.urlopen(changed, timeout=30).close()
            sys.exit(f"{name} is given to an address that was not signed")
        except urllib.error.HTTPError as refusal:
            statuses.add(refusal.code)
print("  at addresses that are not signed, or were changed:", *(f"status {status}" for status in sorted(statuses)))
