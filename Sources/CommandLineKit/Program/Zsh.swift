extension Program {
  func zshCompletions() -> String {
    let places = completionPlaces()
    return """
      #compdef \(name)
      # Completions of \(name) for zsh. To load them, write them to a file _\(name) in a folder of $fpath.

      typeset -ga _\(identifier)_global=(
      \(visibleGlobalOptions.map { "  \(zshOption($0))" }.lines)
      )

      \(asksForValues(places) ? zshValues : "")\(places.reversed().map(zshFunction).joined(separator: "\n"))
      if [[ ${funcstack[1]} == _\(name) ]]; then
        \(function("")) "$@"
      else
        compdef \(function("")) \(name)
      fi

      """
  }

  private func function(_ path: String) -> String {
    "_\(identifier)_at" + path.map { $0 == " " || $0 == "-" ? "_" : String($0) }.reduce(path.isEmpty ? "" : "_", +)
  }

  /// The function that offers the values of a kind.
  private var zshValues: String {
    """
    _\(identifier)_values() {
      local line
      local -a found labels
      while IFS= read -r line; do
        found+=("${line%%$'\\t'*}")
        labels+=("${line/$'\\t'/  }")
      done < <("${(Q)_\(identifier)_line[1]}" \(valuesCommand) "$1" "$PREFIX" "${(@Q)_\(identifier)_line[2,-2]}" 2>/dev/null)
      if [[ ${found[1]} == *= ]]; then
        compadd -S '' -l -d labels -a found
      else
        compadd -l -d labels -a found
      fi
    }


    """
  }

  private func zshFunction(_ place: CompletionPlace) -> String {
    let options = place.options.map { "    \(zshOption($0)) \\\n" }.joined()
    if place.commands.isEmpty {
      let arguments = place.arguments.enumerated().map { number, argument in
        let position = argument.isRepeating ? "*" : argument.isRequired ? "\(number + 1)" : "\(number + 1):"
        return "    " + shellQuoted("\(position):\(zshEscaped(argument.name)):\(zshAction(argument.offered))") + " \\\n"
      }
      return """
        \(function(place.path))() {
          _arguments -s -S \\
        \(options)\(arguments.joined())    "${_\(identifier)_global[@]}"
        }

        """
    }
    // The words up to the cursor; `_arguments` removes those of the commands from `words`.
    let wholeLine = "\n  local -a _\(identifier)_line=(\"${words[@]:0:$CURRENT}\")"
    let help = place.path.isEmpty ? "\n    'help:help for a command'" : ""
    let helpCall = place.path.isEmpty ? "\n        'help') \(function("")) ;;" : ""
    let described = place.visibleCommands.map { "    " + shellQuoted("\(zshEscaped($0.name)):\($0.summary)") }
    let calls = place.visibleCommands.map { command in
      let words = ([command.name] + command.aliases).map(shellQuoted).joined(separator: "|")
      return "        \(words)) \(function(place.path(of: command))) ;;"
    }
    return """
      \(function(place.path))() {
        local curcontext="$curcontext" context state state_descr line\(place.path.isEmpty ? wholeLine : "")
        local -a commands=(
      \(described.lines)\(help)
        )
        typeset -A opt_args
        _arguments -C -s -S \\
      \(options)    "${_\(identifier)_global[@]}" '1: :->command' '*:: :->rest'
        case $state in
          command) _describe -t commands command commands ;;
          rest)
            case $words[1] in
      \(calls.lines)\(helpCall)
            esac ;;
        esac
      }

      """
  }

  /// Returns a specification for `_arguments`. Both spellings exclude each other unless the option repeats.
  private func zshOption(_ option: OptionDescription) -> String {
    let repeats = !option.isFlag && option.repetition != .once
    let help = "[\(zshEscaped(option.help))]"
    let value = option.valueName.map { ":\(zshEscaped($0)):\(zshAction(option.offered))" } ?? ""
    let exclusion = repeats ? "*" : "(\(option.spellings.joined(separator: " ")))"
    return option.spellings.map { spelling in
      let sign = option.isFlag ? "" : spelling.hasPrefix("--") ? "=" : "+"
      return shellQuoted(exclusion + spelling + sign + help + value)
    }.joined(separator: " ")
  }

  private func zshAction(_ completion: Completion) -> String {
    switch completion {
    case .none: " "
    case .file: "_files"
    case .folder: "_files -/"
    case .words(let words): "(\(words.map(zshEscaped).joined(separator: " ")))"
    // The space keeps `_arguments` from adding arguments to the call.
    case .values(let kind): " _\(identifier)_values \(kind)"
    }
  }
}

/// Returns the text with the special characters of a specification escaped.
private func zshEscaped(_ text: String) -> String {
  text.map { "\\:[]()".contains($0) ? "\\\($0)" : String($0) }.joined()
}
