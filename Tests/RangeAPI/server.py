#!/usr/bin/env python3
"""A small server with the REST API of an app for shooting ranges, with a database of its own.

    server.py --data FILE.db [--port N] [--page-size N]

Prints `listening on http://127.0.0.1:PORT/api` once it is reachable. Every request needs `Authorization: Bearer range-token`, or `new-range-token`.
For tests `POST /_test/faults` takes a list of what is to go wrong next: {"match": REGEX over "METHOD /path", "do": ...,
"times": N}, where "do" is one of drop (nothing is done, the connection ends), drop-response (done, but the connection ends
before the response), done-500 (done, and the status is 500), status NNN, wall (403 with a page), error-object (an object in
place of a list), text-list (ids of a list are texts), page (a page for people with status 200), refuse-200 (an error in a response with status 200),
slow SECONDS, text-ids (ids are texts in the response), no-id (the response has no id), shift (a record of the list is deleted
between its pages).
"""
import argparse, json, re, sqlite3, threading, time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TABLES = {
    "rifles": "name TEXT, manufacturer TEXT, model TEXT, caliber TEXT, zeroDistance INTEGER",
    "ammunition": "name TEXT, manufacturer TEXT, caliber TEXT, grain REAL",
    "lots": "ammunitionId INTEGER, lotNumber TEXT, initialQuantity INTEGER",
    "locations": "name TEXT, latitude REAL, longitude REAL, altitude REAL",
    "sessions": "sessionDate TEXT, rifleSetupId INTEGER, locationId INTEGER, notes TEXT, temperature REAL, humidity REAL,"
                " pressure REAL, windSpeed REAL, windDirection REAL, altitude REAL",
    "dope": "sessionId INTEGER, distance INTEGER, elevationMoa REAL, elevationMil REAL, windageMoa REAL, windageMil REAL,"
            " ammunitionId INTEGER, notes TEXT",
    "chrono": "sessionId INTEGER, ammunitionId INTEGER, ammoLotId INTEGER, chronographModel TEXT,"
              " distanceToChronograph INTEGER, notes TEXT",
    "readings": "chronoSessionId INTEGER, shotNumber INTEGER, velocity REAL, isExcluded INTEGER",
    "groups": "sessionId INTEGER, groupNumber INTEGER, distance INTEGER, numberOfShots INTEGER, groupSizeMoa REAL,"
              " meanRadiusMoa REAL, ammunitionId INTEGER, notes TEXT",
    "measurements": "groupEntryId INTEGER, bulletDiameter REAL, calibrationMethod TEXT, measurementConfidence REAL,"
                    " horizontalSpread REAL, verticalSpread REAL, cep50 REAL",
    "holes": "groupMeasurementId INTEGER, x REAL, y REAL",
    "images": "groupEntryId INTEGER, kind TEXT, caption TEXT, fileName TEXT, mimeType TEXT, bytes INTEGER, content BLOB",
}
PARENTS = {"dope": ("sessions", "sessionId"), "chrono": ("sessions", "sessionId"), "groups": ("sessions", "sessionId"),
           "readings": ("chrono", "chronoSessionId"), "measurements": ("groups", "groupEntryId"),
           "holes": ("measurements", "groupMeasurementId"), "images": ("groups", "groupEntryId"),
           "lots": ("ammunition", "ammunitionId")}
# METHOD and path, what it is about, and the field that the number in the path is.
CREATIONS = [
    (r"/api/sessions", "sessions", None),
    (r"/api/sessions/(\d+)/dope", "dope", "sessionId"),
    (r"/api/sessions/(\d+)/chrono", "chrono", "sessionId"),
    (r"/api/sessions/\d+/chrono/(\d+)/readings", "readings", "chronoSessionId"),
    (r"/api/sessions/(\d+)/groups", "groups", "sessionId"),
    (r"/api/groups/(\d+)/measurement", "measurements", "groupEntryId"),
    (r"/api/measurements/(\d+)/holes", "holes", "groupMeasurementId"),
    (r"/api/groups/(\d+)/images", "images", "groupEntryId"),
]
REQUIRED = {"sessions": ["sessionDate", "rifleSetupId"], "dope": ["distance"], "readings": ["shotNumber", "velocity"],
            "groups": ["groupNumber", "distance", "numberOfShots"], "measurements": ["bulletDiameter"], "holes": ["x", "y"]}


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Store:
    def __init__(self, path):
        self.lock = threading.RLock()
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        for name, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE IF NOT EXISTS {name} (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})")

    def seed(self):
        with self.lock:
            if self.db.execute("SELECT count(*) FROM rifles").fetchone()[0]:
                return
            self.db.execute("INSERT INTO rifles (name, caliber, zeroDistance) VALUES ('Tikka T3x', '6.5 Creedmoor', 100)")
            self.db.execute("INSERT INTO rifles (name, caliber, zeroDistance) VALUES ('Ruger Precision', '.308 Winchester', 200)")
            self.db.execute("INSERT INTO ammunition (name, manufacturer, caliber, grain) VALUES ('ELD Match', 'Hornady', '6.5 Creedmoor', 140)")
            self.db.execute("INSERT INTO ammunition (name, manufacturer, caliber, grain) VALUES ('Gold Medal', 'Federal', '.308 Winchester', 168)")
            self.db.execute("INSERT INTO lots (ammunitionId, lotNumber, initialQuantity) VALUES (1, 'A-17', 200)")
            self.db.execute("INSERT INTO locations (name, latitude, longitude, altitude) VALUES ('Quarry range', 46.2, 7.35, 1640)")

    def rows(self, table, where="1", *values):
        with self.lock:
            rows = self.db.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY id", values).fetchall()
        return [{key: row[key] for key in row.keys() if key != "content"} for row in rows]

    def insert(self, table, fields):
        names = [column.split()[0] for column in TABLES[table].split(", ")]
        fields = {name: value for name, value in fields.items() if name in names}
        for name in REQUIRED.get(table, []):
            if fields.get(name) is None:
                raise Refused(422, f"{name} is required")
        if table == "dope" and not 0 < fields["distance"] <= 5000:
            raise Refused(422, "distance must be 1 to 5000 yards")
        if table == "sessions" and not self.rows("rifles", "id = ?", fields["rifleSetupId"]):
            raise Refused(422, "this rifle does not exist")
        with self.lock:
            marks = ", ".join("?" for _ in fields)
            cursor = self.db.execute(f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({marks})", list(fields.values()))
            return cursor.lastrowid

    def delete(self, table, number):
        with self.lock:
            for child, (parent, column) in PARENTS.items():
                if parent == table:
                    for row in self.rows(child, f"{column} = ?", number):
                        self.delete(child, row["id"])
            self.db.execute(f"DELETE FROM {table} WHERE id = ?", (number,))

    def whole(self, session):
        """A session with everything that is in it."""
        session["dopeEntries"] = self.rows("dope", "sessionId = ?", session["id"])
        session["chronoSessions"] = self.rows("chrono", "sessionId = ?", session["id"])
        for chrono in session["chronoSessions"]:
            chrono["velocityReadings"] = self.rows("readings", "chronoSessionId = ?", chrono["id"])
            for reading in chrono["velocityReadings"]:
                reading["isExcluded"] = bool(reading["isExcluded"])
        session["groupEntries"] = self.rows("groups", "sessionId = ?", session["id"])
        for group in session["groupEntries"]:
            measurements = self.rows("measurements", "groupEntryId = ?", group["id"])
            group["measurement"] = measurements[0] if measurements else None
            for measurement in measurements:
                measurement["holePositions"] = self.rows("holes", "groupMeasurementId = ?", measurement["id"])
            group["images"] = self.rows("images", "groupEntryId = ?", group["id"])
        return session


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store, faults, page_size, old_summary, keys = None, [], 50, False, {}
    addresses, stored = {}, {}

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.handle_request("GET")

    def do_POST(self):
        self.handle_request("POST")

    def do_PUT(self):
        self.handle_request("PUT")

    def do_DELETE(self):
        self.handle_request("DELETE")

    def handle_request(self, method):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        if path == "/_test/faults":
            Handler.faults = json.loads(body)
            return self.respond(200, {})
        if path == "/_test/sql":
            with self.store.lock:
                rows = self.store.db.execute(body.decode()).fetchall()
            return self.respond(200, [list(row) for row in rows])
        if path == "/_test/old-summary":
            Handler.old_summary = True
            return self.respond(200, {})
        fault = self.fault(f"{method} {path}")
        if fault == "drop":
            return self.drop()
        if fault.startswith("slow"):
            time.sleep(float(fault.split()[1]))
        if fault.startswith("status"):
            return self.respond(int(fault.split()[1]), {"success": False, "message": "the server has a problem"})
        if fault == "wall":
            return self.respond(403, "<html><body>Request blocked</body></html>")
        if fault == "page":
            return self.respond(200, "<html><body>Welcome to the free WiFi</body></html>")
        if fault == "refuse-200":
            return self.respond(200, {"success": False, "message": "the quota of this month is used up"})
        if path.startswith("/store/"):
            return self.put_image(path, query, body)
        if path != "/api/health" and self.headers.get("Authorization") not in ("Bearer range-token", "Bearer new-range-token"):
            return self.respond(401, {"success": False, "message": "sign in first"})
        try:
            status, data = self.route(method, path, query, body)
        except Refused as refused:
            return self.respond(refused.status, {"success": False, "message": refused.message})
        if fault == "drop-response":
            return self.drop()
        if fault == "done-500":
            return self.respond(500, {"success": False, "message": "the server has a problem"})
        if fault == "error-object":
            return self.respond(200, {"success": True, "data": {"items": {"error": "maintenance"}}})
        if fault == "text-list":
            for item in data["items"]:
                item["id"] = f"rifle-{item['id']}"
        if fault == "text-ids" and isinstance(data, dict):
            data = {**data, "id": str(data["id"])}
        if fault == "no-id":
            data = {}
        if fault == "shift" and isinstance(data, dict) and data.get("items"):
            self.store.delete("rifles", data["items"][0]["id"])
        self.respond(status, {"success": True, "data": data})

    def fault(self, request):
        with self.store.lock:
            for fault in Handler.faults:
                if fault.get("times", 1) > 0 and re.fullmatch(fault["match"], request):
                    fault["times"] = fault.get("times", 1) - 1
                    return fault["do"]
        return ""

    def route(self, method, path, query, body):
        store = self.store
        parameters = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
        if method == "GET":
            if path in ("/api/health", "/api/"):
                return 200, {"status": "ok"}
            if path == "/api/account/me":
                return 200, {"id": "account-1", "email": "ada@example.org"}
            if path == "/api/rifles":
                return 200, self.page(store.rows("rifles"), parameters)
            if path == "/api/ammunition":
                rows = store.rows("ammunition")
                for row in rows:
                    row["lots"] = store.rows("lots", "ammunitionId = ?", row["id"])
                return 200, rows
            if path == "/api/locations":
                return 200, store.rows("locations")
            if path == "/api/analytics/summary":
                sessions = len(store.rows("sessions"))
                if Handler.old_summary:
                    return 200, {"sessions": sessions}
                return 200, {"totalSessions": sessions, "totalRifles": len(store.rows("rifles")),
                             "totalRoundsFired": sum(row["numberOfShots"] or 0 for row in store.rows("groups")),
                             "lastSessionDate": max([row["sessionDate"] for row in store.rows("sessions")], default=None)}
            if path == "/api/sessions":
                return 200, self.page([store.whole(row) for row in store.rows("sessions")], parameters)
            found = re.fullmatch(r"/api/(sessions|groups|chrono|measurements)/(\d+)", path)
            if found:
                rows = store.rows(found[1], "id = ?", int(found[2]))
                if not rows:
                    raise Refused(404, f"there is no {found[1]} {found[2]}")
                return 200, store.whole(rows[0]) if found[1] == "sessions" else rows[0]
            for pattern, table, column in CREATIONS:
                found = re.fullmatch(pattern, path)
                if found and column:
                    self.needs_parent(table, int(found[1]))
                    return 200, store.rows(table, f"{column} = ?", int(found[1]))
        if method == "POST":
            found = re.fullmatch(r"/api/images/(\d+)/(address|confirm)", path)
            if found:
                return self.image_address(int(found[1]), found[2], json.loads(body))
            for pattern, table, column in CREATIONS:
                found = re.fullmatch(pattern, path)
                if not found:
                    continue
                is_form = "multipart" in self.headers.get("Content-Type", "")
                fields = self.form(body) if is_form else json.loads(body)
                if column:
                    self.needs_parent(table, int(found[1]))
                    fields[column] = int(found[1])
                key = self.headers.get("Idempotency-Key")
                if key and key in Handler.keys:
                    return 200, store.rows(table, "id = ?", Handler.keys[key])[0]
                number = store.insert(table, fields)
                if key:
                    Handler.keys[key] = number
                return 201, store.rows(table, "id = ?", number)[0]
        if method == "DELETE":
            found = re.fullmatch(r"/api/(sessions|images)/(\d+)", path)
            if found:
                if not store.rows(found[1], "id = ?", int(found[2])):
                    raise Refused(404, "there is no such record")
                store.delete(found[1], int(found[2]))
                return 200, {}
        raise Refused(404, "there is nothing under this path")

    def image_address(self, number, what, fields):
        """An address to which an image may be sent for a while, and the news that it is there."""
        if not self.store.rows("images", "id = ?", number):
            raise Refused(404, "there is no such image")
        if what == "address":
            if fields["size"] > 10_000_000:
                raise Refused(413, "an image has at most 10 MB")
            key = f"image-{number}"
            Handler.addresses[key] = (fields["type"], fields["size"])
            host = self.headers["Host"]
            return 200, {"url": f"http://{host}/store/{key}?signature=1", "key": key}
        with self.store.lock:
            there = Handler.stored.get(fields["key"])
            if there is None:
                raise Refused(409, "the image is not there")
            self.store.db.execute("UPDATE images SET content = ?, bytes = ? WHERE id = ?", (there, len(there), number))
        return 200, {"id": number}

    def put_image(self, path, query, body):
        expected = Handler.addresses.get(path.rsplit("/", 1)[1])
        if query != "signature=1" or self.headers.get("Authorization") or expected is None:
            return self.respond(403, {"message": "no valid address"})
        if (self.headers.get("Content-Type"), len(body)) != expected:
            return self.respond(400, {"message": "another type or size than was said"})
        Handler.stored[path.rsplit("/", 1)[1]] = body
        self.respond(200, {})

    def needs_parent(self, table, number):
        parent = PARENTS[table][0]
        if not self.store.rows(parent, "id = ?", number):
            raise Refused(404, f"there is no {parent} {number}")

    def page(self, rows, parameters):
        size = min(int(parameters.get("pageSize", self.page_size)), self.page_size)
        number = int(parameters.get("page", 1))
        return {"items": rows[(number - 1) * size:number * size], "page": number, "total": len(rows)}

    def form(self, body):
        """The parts of multipart/form-data."""
        boundary = re.search(r"boundary=([^;]+)", self.headers["Content-Type"])[1].strip('"').encode()
        fields = {}
        for part in body.split(b"--" + boundary)[1:-1]:
            head, _, content = part.strip(b"\r\n").partition(b"\r\n\r\n") if part.count(b"\r\n\r\n") else (part, b"", b"")
            content = part.split(b"\r\n\r\n", 1)[1][:-2]
            name = re.search(rb'name="([^"]*)"', head)[1].decode()
            file_name = re.search(rb'filename="([^"]*)"', head)
            if file_name:
                fields.update(content=content, bytes=len(content))
                fields.setdefault("fileName", file_name[1].decode())
            else:
                fields[name] = content.decode()
        if "content" not in fields:
            raise Refused(422, "an image is required")
        return fields

    def drop(self):
        self.close_connection = True
        self.connection.shutdown(2)

    def respond(self, status, value):
        is_page = isinstance(value, str)
        body = value.encode() if is_page else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if is_page else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--page-size", type=int, default=50)
    arguments = parser.parse_args()
    Handler.store = Store(arguments.data)
    Handler.store.seed()
    Handler.page_size = arguments.page_size
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.daemon_threads = True
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/api", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
