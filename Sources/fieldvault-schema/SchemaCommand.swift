import SchemaCompiler

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The schema compiler as a program, which the build tool plugin runs.
@main
enum SchemaCommand {
  static let usage = """
    usage: fieldvault-schema --schema NAME=FOLDER ... --emit NAME --output FOLDER
           fieldvault-schema --schema NAME=FOLDER ... --sql-only --output FOLDER

      --schema NAME=FOLDER  a folder of NNNN_name.sql files; in the order in which they are applied
      --emit NAME           the schema that becomes Swift
      --sql-only            the SQL of all schemas becomes Swift, without types for their tables
      --output FOLDER       where the Swift files go
    """

  static func main() {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      let outputs =
        if let emitted = arguments.emitted {
          try SchemaCompiler(sources: arguments.sources, emitting: emitted).compile()
        } else {
          try SchemaCompiler.embed(arguments.sources)
        }
      for output in outputs {
        try FileSystem.update(arguments.output + "/" + output.name, text: output.text)
      }
    } catch let error as Arguments.Mistake {
      stop("fieldvault-schema: \(error.message)\n\(usage)", code: 2)
    } catch {
      stop("\(error)", code: 1)
    }
  }

  private static func stop(_ message: String, code: Int32) -> Never {
    _ = (message + "\n").withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(code)
  }
}

/// The arguments of the program.
struct Arguments {
  struct Mistake: Error {
    let message: String
  }

  var sources: [SchemaCompiler.Source] = []
  /// The schema to compile; `nil` to embed the SQL of all schemas.
  let emitted: String?
  let output: String

  init(_ words: [String]) throws {
    var emitted: String?
    var output: String?
    var isSQLOnly = false
    var index = 0
    while index < words.count {
      if words[index] == "--sql-only" {
        isSQLOnly = true
        index += 1
        continue
      }
      guard index + 1 < words.count else { throw Mistake(message: "\(words[index]) needs a value") }
      let value = words[index + 1]
      switch words[index] {
      case "--schema":
        guard let sign = value.firstIndex(of: "=") else { throw Mistake(message: "--schema takes NAME=FOLDER") }
        sources.append(
          SchemaCompiler.Source(name: String(value[..<sign]), folder: String(value[value.index(after: sign)...])))
      case "--emit": emitted = value
      case "--output": output = value
      default: throw Mistake(message: "unknown option \(words[index])")
      }
      index += 2
    }
    guard (emitted == nil) == isSQLOnly else {
      throw Mistake(message: isSQLOnly ? "--emit and --sql-only exclude each other" : "--emit is missing")
    }
    guard let output else { throw Mistake(message: "--output is missing") }
    self.emitted = emitted
    self.output = output
  }
}
