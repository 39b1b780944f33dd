import CommandLineKit
import TestSupport
import Testing

/// A server with every kind of setting.
private let program = Program(
  name: "server", version: "1", summary: "serves",
  options: [.flag("quiet", "print nothing"), .flag("json", "print JSON", isSetting: false)],
  commands: [
    CommandDescription(
      "serve", summary: "serves",
      options: [
        .value("data", "DIR", "the folder", completion: .folder, variable: "SERVER_DATA"),
        .value("database", "URL", "the database"),
        .value("rate", "N", "requests per second", default: "200", isReloadable: true),
        .value("mode", "MODE", "how", allowed: ["fast", "safe"], variable: "SERVER_MODE"),
        .value("schema", "NAME_OR_FOLDER", "tables", repetition: .list, completion: .folder, names: ["shipped"]),
        .flag("pooled", "behind a pooler"),
        .value("config", "FILE", "the settings", completion: .file, isSetting: false),
      ],
      choices: [Choice("data", "database")]),
    CommandDescription(
      "list", summary: "lists", options: [.value("data", "DIR", "the folder", completion: .folder)]),
  ])

private func file(_ text: String, path: String = "/etc/server.conf") throws -> ConfigurationFile {
  try ConfigurationFile(Array(text.utf8), path: path, of: program, command: ["serve"])
}

private func line(_ line: String) throws -> ParsedArguments {
  try ArgumentParser(program).parse(line.split(separator: " ").map(String.init))
}

private func refusal(_ text: String) -> UsageError? {
  #expect(throws: UsageError.self) { try file(text) }
}

private func refusal(of arguments: ParsedArguments, _ text: String) throws -> UsageError? {
  let file = try file(text)
  return #expect(throws: UsageError.self) { try arguments.adding(file) }
}

@Suite("Configuration files")
struct ConfigurationFileTests {
  @Test("Comments, blanks, quotes and line ends of a file do not belong to its values")
  func values() throws {
    let settings = try file(
      "\u{FEFF}# all\n\n\trate=5 # five\r\ndata = \" /a #1 \" # quoted\nmode =safe\npooled = true\n"
        + "database = \"a\\\"b\\\\c\"\nschema = shipped\nschema = /b"
    ).settings
    #expect(settings.map(\.value) == ["5", "/etc/ /a #1 ", "safe", "true", "a\"b\\c", "shipped", "/b"])
    #expect(settings.map(\.line) == [3, 4, 5, 6, 7, 8, 9])
    #expect(try file("").settings.isEmpty)
  }

  @Test("A relative path is relative to the folder of its file, and a name is no path")
  func paths() throws {
    func value(_ text: String, _ path: String) throws -> [String] { try file(text, path: path).settings.map(\.value) }
    #expect(try value("data = d/e", "/etc/conf/server.conf") == ["/etc/conf/d/e"])
    #expect(try value("data = d", "server.conf") == ["d"])
    #expect(try value("data = d", "a/server.conf") == ["a/d"])
    #expect(try value("data = d", "/server.conf") == ["/d"])
    #expect(try value("data = /d", "/etc/server.conf") == ["/d"])
    #expect(try value("schema = shipped\nschema = own", "/etc/server.conf") == ["shipped", "/etc/own"])
    #expect(try value("database = d", "/etc/server.conf") == ["d"])
  }

  @Test(
    "A mistake in a file is refused with its line",
    arguments: [
      ("rate = 1\nrat = 2", 2, "unknown setting 'rat'"),
      ("rate = 1\n\nrate = 2", 3, "rate is set twice, first in line 1"),
      ("pooled = true\npooled = true", 2, "pooled is set twice, first in line 1"), ("rate", 1, "rate has no value"),
      ("rate 5", 1, "rate has no value"), ("rate =", 1, "rate has no value"), ("rate = # 5", 1, "rate has no value"),
      ("rate = \"\"", 1, "rate has no value"), ("hello world", 1, "'hello' is not a setting"),
      ("pooled = yes", 1, "pooled is true or false, not 'yes'"), ("mode = slow", 1, "mode is fast or safe, not 'slow'"),
      ("data = /a#b", 1, "the value of data has a #"), ("data = \"/a", 1, "the value of data has no closing quote"),
      ("data = \"/a\" b", 1, "the value of data goes on behind its closing quote"),
      ("data = \"\\a\"", 1, "the value of data has a single backslash"), ("= 5", 1, "'=' is not a setting"),
      ("data = /a\u{0}b", 1, "the line has a control character"),
      ("config = x", 1, "config is an option of the command line only"),
      ("json = true", 1, "json is an option of the command line only"), ("--rate = 1", 1, "unknown setting '--rate'"),
    ])
  func mistakes(text: String, line: Int, message: String) {
    let error = refusal(text)
    #expect(error?.message == "/etc/server.conf:\(line): \(message)")
    #expect(error?.exitCode == .usage && error?.usage == nil)
    #expect(error?.hint != nil || error?.help != nil)
  }

  @Test("An unknown setting suggests the nearest setting, and a bad value shows the help of its setting")
  func help() {
    #expect(
      refusal("databse = x").map { "\($0)" } == """
        error: /etc/server.conf:1: unknown setting 'databse'
        hint:  did you mean 'database'?
               See 'server help serve' for more.

        """)
    #expect(
      refusal("rate =").map { "\($0)" } == """
        error: /etc/server.conf:1: rate has no value
        help:  rate = N  requests per second (default: 200; reloadable)
               See 'server help serve' for more.

        """)
  }

  @Test("Bytes that are not UTF-8, and a file of more than 1 MiB, are refused")
  func bytes() {
    func refusal(_ bytes: [UInt8]) -> String? {
      let error = #expect(throws: UsageError.self) {
        try ConfigurationFile(bytes, path: "f", of: program, command: ["serve"])
      }
      return error?.message
    }
    #expect(refusal(Array("rate = 1\ndata = ".utf8) + [0xFF]) == "f:2: the line is not UTF-8")
    #expect(refusal([UInt8](repeating: 0x0A, count: (1 << 20) + 1)) == "f: the file has more than 1 MiB")
    #expect(throws: Never.self) {
      try ConfigurationFile(
        [UInt8](repeating: 0x0A, count: 1 << 20), path: "f", of: program, command: ["serve"])
    }
    #expect(refusal([UInt8](repeating: 0x61, count: 100_000)).map { $0.count < 200 } == true)
  }

  @Test("The command line wins over the environment, and the environment over the file")
  func precedence() throws {
    let settings = try file("data = /file\nmode = safe\nrate = 7\nschema = /x\nschema = /y\npooled = true")
    let variables = ["SERVER_DATA": "/variable", "SERVER_MODE": ""]
    func value(_ words: String, _ name: String) throws -> [String] {
      try line(words).adding { variables[$0] }.adding(settings).values(name)
    }
    #expect(try value("serve --data /line", "data") == ["/line"])
    #expect(try value("serve", "data") == ["/variable"])
    #expect(try line("serve").adding(settings).value("data") == "/file")
    #expect(try value("serve", "mode") == ["safe"], "an empty variable counts as missing")
    #expect(try value("serve", "schema") == ["/x", "/y"])
    #expect(try value("serve --schema shipped", "schema") == ["shipped"])
    #expect(try line("serve").adding(settings).flag("pooled"))
    #expect(try !line("serve").adding(file("pooled = false")).flag("pooled"))
    #expect(try !line("serve").adding(file("pooled = false")).isGiven("pooled"))
    #expect(try line("list").adding(settings).value("data") == "/file", "settings of other commands are left out")
  }

  @Test("An option displaces the settings of a file that it excludes, and settings of one file do not")
  func choices() throws {
    let arguments = try line("serve --database x").adding(file("data = /file"))
    #expect(!arguments.isGiven("data"))
    let both = try refusal(of: line("serve"), "data = /d\ndatabase = x")
    #expect(both?.message == "/etc/server.conf:1: data and database exclude each other")
    #expect(try line("serve --database x").adding { $0 == "SERVER_DATA" ? "/v" : nil }.value("data") == nil)
  }

  @Test("A check names the origin of a refused value")
  func origins() throws {
    func refusal(_ arguments: ParsedArguments) -> String? {
      #expect(throws: UsageError.self) { try arguments.integer("rate", in: 1...9) }?.message
    }
    let range = "rate is a whole number from 1 to 9, not"
    #expect(refusal(try line("serve --rate 10")) == "--\(range) '10'")
    #expect(refusal(try line("serve").adding(file("\nrate = 11"))) == "/etc/server.conf:2: \(range) '11'")
    let wrong = #expect(throws: UsageError.self) { try line("serve").adding { $0 == "SERVER_MODE" ? "slow" : nil } }
    #expect(wrong?.message == "SERVER_MODE is fast or safe, not 'slow'")
  }

  @Test("The effective settings have the origin of each value")
  func effective() throws {
    let arguments = try line("serve --quiet --database x")
      .adding { $0 == "SERVER_MODE" ? "fast" : nil }
      .adding(file("schema = /x\nschema = /y\npooled = false"))
    #expect(
      arguments.effectiveSettings.map { "\($0.name) = \($0.value): \($0.source)" } == [
        "database = x: commandLine", "rate = 200: declaredDefault", "mode = fast: environment(\"SERVER_MODE\")",
        "schema = /x: file(\"/etc/server.conf\", line: 1)", "schema = /y: file(\"/etc/server.conf\", line: 2)",
        "pooled = false: file(\"/etc/server.conf\", line: 3)", "quiet = true: commandLine",
      ])
    #expect(arguments.reloadableSettings == ["rate"])
  }

  @Test("The example has every setting with its help and default, and is a valid file")
  func example() throws {
    let text = program.exampleConfiguration(of: ["serve"])
    #expect(try file(text).settings.isEmpty)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }.map { $0.dropFirst() }
    #expect(
      lines == [
        "data = DIR", "database = URL", "rate = 200", "mode = MODE", "schema = NAME_OR_FOLDER", "pooled = false",
        "quiet = false",
      ])
    #expect(text.contains("# requests per second (default: 200; reloadable)\n#rate = 200\n"))
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    let uncommented = lines.filter { !$0.hasPrefix("mode") }.joined(separator: "\n")
    #expect(try file(uncommented).settings.count == 6)
  }

  @Test("Random settings are read as they were written")
  func roundTrip() throws {
    var random = Seeded(of: "round trip of settings")
    let scalars = Array(" \t#\"\\=aä/\u{301}\u{202E}😀\r-'".unicodeScalars)
    for round in 0..<2000 {
      let values = (0..<random.number(1..<5)).map { _ in
        var text = "/"
        for _ in 0..<random.number(0..<8) {
          let scalar = random.pick(scalars)
          if scalar != "\r" { text.unicodeScalars.append(scalar) }
        }
        return text
      }
      let database = String(
        String.UnicodeScalarView((0..<random.number(1..<9)).map { _ in random.pick(scalars.filter { $0 != "\r" }) }))
      var lines = values.map { ConfigurationFile.line("schema", $0) } + [ConfigurationFile.line("database", database)]
      for _ in 0..<random.number(0..<4) {
        lines.insert(random.pick(["", "  ", "# schema = /no", "\t#"]), at: random.number(0..<lines.count + 1))
      }
      let text = lines.map { $0 + random.pick(["", " ", " # comment", "\r"]) }.joined(separator: "\n")
      let settings = try file(text).settings
      let place = "seed \(random.seed), round \(round): \(text)"
      #expect(
        settings.filter { $0.name == "schema" }.map { Array($0.value.unicodeScalars) }
          == values.map { Array($0.unicodeScalars) }, "\(place)")
      #expect(
        settings.last { $0.name == "database" }.map { Array($0.value.unicodeScalars) }
          == Array(database.unicodeScalars), "\(place)")
    }
  }
}
