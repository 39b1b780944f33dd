extension Program {
  func fishCompletions() -> String {
    let places = completionPlaces()
    var lines = ["complete -c \(name) -f"]
    lines += visibleGlobalOptions.map { fishOption($0, condition: "") }
    for place in places {
      for command in place.visibleCommands {
        lines.append(
          "complete -c \(name) -n \(at(place, 0)) -a \(fishQuoted(command.name)) -d \(fishQuoted(command.summary))")
      }
      lines += place.options.map { fishOption($0, condition: " -n \(at(place))") }
      for (number, argument) in place.arguments.enumerated() where argument.offered != .none {
        let place = argument.isRepeating ? at(place) : at(place, number)
        lines.append("complete -c \(name) -n \(place)\(fishKind(argument.offered)) -d \(fishQuoted(argument.help))")
      }
    }
    lines.append("complete -c \(name) -n \(fishQuoted("__\(identifier)_at '' 0")) -a help -d 'help for a command'")
    return """
      # Completions of \(name) for fish. To load them: \(name) completions fish | source

      # Whether the cursor stands after the command $argv[1], with $argv[2] arguments before it when that is given.
      function __\(identifier)_at
        set -l path
        set -l count 0
        set -l waiting
        set -l words (commandline -opc)
        for word in $words[2..-1]
          if set -q waiting[1]
            set -e waiting
            string match -qr -- '^-.' $word; or continue
          end
          switch $word
            case '--*=*'
            case '-?*'
              switch "$path:$word"
      \(places.flatMap { place in place.options.compactMap { fishWait($0, at: place.path) } }.lines)
      \(visibleGlobalOptions.compactMap { fishWait($0, at: "*") }.lines)
              end
            case '*'
              switch "$path:$word"
      \(places.flatMap(fishMoves).lines)
                case ':help'
                case '*'
                  set count (math $count + 1)
              end
          end
        end
        test "$path" = "$argv[1]"; and begin; not set -q argv[2]; or test $count -eq $argv[2]; end
      end

      \(asksForValues(places) ? fishValues : "")\(lines.lines)

      """
  }

  /// The function that prints the values of a kind.
  private var fishValues: String {
    """
    function __\(identifier)_values
      set -l words (commandline -opc)
      set -l prefix (commandline -ct | string replace -r -- '^--[^=]*=' '')
      $words[1] \(valuesCommand) $argv[1] "$prefix" $words[2..-1] 2>/dev/null
    end


    """
  }

  private func fishWait(_ option: OptionDescription, at path: String) -> String? {
    if option.isFlag { return nil }
    let patterns = option.spellings.map { fishQuoted("\(path):\($0)") }.joined(separator: " ")
    return "          case \(patterns)\n            set waiting 1"
  }

  private func fishMoves(_ place: CompletionPlace) -> [String] {
    place.visibleCommands.map { command in
      let patterns = ([command.name] + command.aliases).map { fishQuoted("\(place.path):\($0)") }
      return "          case \(patterns.joined(separator: " "))\n"
        + "            set path \(fishQuoted(place.path(of: command)))"
    }
  }

  private func at(_ place: CompletionPlace, _ count: Int? = nil) -> String {
    fishQuoted("__\(identifier)_at \(fishQuoted(place.path))" + (count.map { " \($0)" } ?? ""))
  }

  private func fishOption(_ option: OptionDescription, condition: String) -> String {
    var line = "complete -c \(name)\(condition) -l \(fishQuoted(option.long))"
    if let short = option.short { line += " -s \(short)" }
    if !option.isFlag { line += " -r" + fishKind(option.offered) }
    return line + " -d \(fishQuoted(option.help))"
  }

  private func fishKind(_ completion: Completion) -> String {
    switch completion {
    case .none: " -f"
    case .file: " -F"
    case .folder: " -f -a '(__fish_complete_directories)'"
    case .words(let words): " -f -a \(fishQuoted(words.joined(separator: " ")))"
    case .values(let kind): " -f -a \(fishQuoted("(__\(identifier)_values \(kind))"))"
    }
  }
}

/// Returns the text as one word for fish.
func fishQuoted(_ text: String) -> String {
  "'" + text.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] } + "'"
}
