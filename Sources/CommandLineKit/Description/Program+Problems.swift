extension Program {
  /// The problems of the description itself, for a test of the program.
  ///
  /// Every name is unique where it is visible, only the last argument repeats, optional arguments come last, choices
  /// name existing options, and the command line of every example parses.
  public func problems() -> [String] {
    var problems = namesTwice(commands.flatMap { [$0.name] + $0.aliases } + ["help"], in: name)
    problems += exampleProblems(examples)
    for (path, chain) in visibleCommands() {
      guard let command = chain.last else { continue }
      let place = path.joined(separator: " ")
      let options = chain.flatMap(\.options) + globalOptions
      problems += namesTwice(command.subcommands.flatMap { [$0.name] + $0.aliases }, in: place)
      problems += namesTwice(options.flatMap(\.spellings) + command.arguments.map(\.name), in: place)
      if command.arguments.dropLast().contains(where: \.isRepeating) {
        problems.append("\(place): only the last argument may repeat")
      }
      if command.arguments.drop(while: \.isRequired).contains(where: \.isRequired) {
        problems.append("\(place): a required argument follows an optional one")
      }
      if !command.subcommands.isEmpty, !command.arguments.isEmpty {
        problems.append("\(place): a group takes no arguments")
      }
      let names = Set(options.map(\.long) + command.arguments.map(\.name))
      problems += command.choices.flatMap(\.names).filter { !names.contains($0) }.map {
        "\(place): a choice names \($0), which is not declared"
      }
      problems += exampleProblems(command.examples)
    }
    return problems
  }

  private func namesTwice(_ names: [String], in place: String) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }.map { "\(place): \($0) is declared twice" }
  }

  private func exampleProblems(_ examples: [Example]) -> [String] {
    examples.compactMap { example in
      // The words before the program's name set variables or feed a pipe. Redirections follow it.
      let ends: Set<String> = ["|", ">", "<", "&&", ";", "&"]
      let words = shellSplit(example.command).drop { $0 != name }.prefix { !ends.contains($0) }
      guard !words.isEmpty else { return "example does not call \(name): \(example.command)" }
      do throws(UsageError) {
        _ = try ArgumentParser(self).parse(Array(words.dropFirst()))
        return nil
      } catch {
        return "example does not parse: \(example.command): \(error.message)"
      }
    }
  }
}

/// The words of a command line in which quotes are the only special signs.
func shellSplit(_ line: String) -> [String] {
  var words: [String] = []
  var word: String?
  var quote: Character?
  for character in line {
    if character == quote {
      quote = nil
    } else if quote == nil, character == "'" || character == "\"" {
      quote = character
      word = word ?? ""
    } else if quote == nil, character == " " {
      if let word { words.append(word) }
      word = nil
    } else {
      word = (word ?? "") + String(character)
    }
  }
  return words + (word.map { [$0] } ?? [])
}
