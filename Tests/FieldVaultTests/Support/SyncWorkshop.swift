import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server and the vaults of two people of one account, `a.vault` and `b.vault`, which know its address and their tokens.
final class SyncWorkshop {
  let shop: Workshop
  private let program: String
  private let schema: String
  /// The options that name the data of the server.
  private let source: [String]
  private var server: Running?
  private(set) var url = ""
  /// More options of the server's program.
  var serveOptions: [String] = []

  /// - Parameter source: the options that name the data of the server; a folder of the workshop if `nil`.
  init(shop: Workshop, schema: String, source: [String]? = nil, serveOptions: [String] = []) throws {
    self.shop = shop
    self.schema = schema
    self.source = source ?? ["--data", shop.path("data")]
    self.serveOptions = serveOptions
    program = try builtProgram("fieldvault-server")
  }

  convenience init(
    schema: String = "restoration", source: [String]? = nil, serveOptions: [String] = []
  ) throws {
    try self.init(
      shop: try Workshop(vault: false), schema: schema, source: source, serveOptions: serveOptions)
    for (vault, person) in [("a.vault", "ada"), ("b.vault", "bob")] {
      try shop.done("init", "--schema", schema, "--quiet", vault: vault)
      try shop.write(try token(of: person, ["--account", "water"]), to: "token-\(vault)")
    }
    try connect()
  }

  /// Adds a user to the server and returns the token as printed.
  func token(of user: String, _ options: [String]) throws -> String {
    let added = try run(program, ["user", "add", user, "-q"] + source + options)
    guard added.status == 0 else { throw Unexpected("no user: \(added.errors)") }
    return added.output
  }

  /// Runs a command of the server's program as an operator.
  func operate(_ words: [String]) throws -> Ran { try run(program, words + source) }

  /// Runs another command of the server's program, and returns its output.
  func administer(_ words: String...) throws -> String {
    let ran = try operate(words + ["-q"])
    guard ran.status == 0 else { throw Unexpected("\(words) ended with \(ran.status): \(ran.errors)") }
    return ran.output
  }

  /// Starts the server and tells both vaults its address.
  func connect() throws {
    try start()
    for vault in ["a.vault", "b.vault"] {
      try shop.done("remote", "set", url, "--token-file", shop.path("token-\(vault)"), "-q", vault: vault)
    }
  }

  deinit { try? stop() }

  /// Starts the server, at the address that it had before.
  func start() throws {
    let place = url.split(separator: "/").last.map { String($0) } ?? "127.0.0.1:0"
    let started = try Running(
      program, ["serve", "--listen", place, "--schema", schema, "-q"] + source + serveOptions,
      environment: shop.environment())
    server = started
    try blockUntil("the server listens") { try started.outputSoFar().hasSuffix("\n") }
    let line = try started.outputSoFar().split(separator: "\n").first { $0.hasPrefix("listening on ") }
    guard let line else { throw Unexpected("the server does not listen") }
    url = String(line.dropFirst("listening on ".count))
  }

  /// Ends the server.
  func stop() throws {
    guard let running = server else { return }
    server = nil
    kill(running.process, SIGTERM)
    _ = try running.wait()
  }

  /// Starts a new epoch of the server, which does not run.
  func newEpoch() throws {
    let ran = try run(program, ["epoch", "new", "-q"] + source)
    guard ran.status == 0 else { throw Unexpected("no new epoch: \(ran.errors)") }
  }

  /// Syncs a vault where that has to succeed.
  @discardableResult
  func sync(_ vault: String, _ more: String...) throws -> [String: Any] {
    let ran = try shop.run(["sync", "--json"] + more, vault: vault)
    guard ran.status == 0 || ran.status == 8 else { throw Unexpected("sync ended with \(ran.status): \(ran.errors)") }
    return try ran.object()
  }

  /// Makes a record, and returns its uuid.
  func put(_ vault: String, _ words: String...) throws -> String {
    let ran = try shop.run(["put"] + words, vault: vault)
    guard ran.status == 0, let line = ran.lines.first else { throw Unexpected("put: \(ran.errors)") }
    return String(line)
  }

  /// A field of a record; nil where there is no such record.
  func value(_ field: String, _ entity: String, _ uuid: String, _ vault: String) throws -> String? {
    let ran = try shop.run(["get", entity, uuid, "--json"], vault: vault)
    if ran.status == 4 { return nil }
    return try ran.object()[field].map { "\($0)" }
  }
}
