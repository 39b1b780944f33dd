// Written for bash 3.2, which macOS still has: no associative arrays, no `mapfile`, `compopt` only where it exists.
// The script needs nothing beside bash; it does not use the bash-completion package.
extension Program {
  func bashCompletions() -> String {
    let places = completionPlaces()
    return """
      # Completions of \(name) for bash. To load them: source <(\(name) completions bash)

      # Sets kind, offer and more for the option $2 of the command $1; fails for a flag and for what is no option.
      _\(identifier)_option() {
        kind=none offer=() more=
        case "$1:$2" in
      \(places.flatMap { place in place.options.compactMap { bashOption($0, at: shellQuoted(place.path)) } }.lines)
      \(visibleGlobalOptions.compactMap { bashOption($0, at: "*") }.lines)
          *) return 1 ;;
        esac
      }

      # Sets kind and offer for the argument with the number $2 of the command $1.
      _\(identifier)_argument() {
        kind=none offer=()
        case "$1:$2" in
      \(places.flatMap(bashArguments).lines)
        esac
      }

      # Sets offer to the options of the command $1.
      _\(identifier)_options() {
        offer=(\(shellWords(visibleGlobalOptions.flatMap(\.spellings))))
        case "$1" in
      \(places.filter { !$0.options.isEmpty }.map {
        "    \(shellQuoted($0.path))) offer+=(\(shellWords($0.options.flatMap(\.spellings)))) ;;"
      }.lines)
        esac
      }

      \(bashFunction(places))
      complete -F _\(identifier) \(name)

      """
  }

  private func bashOption(_ option: OptionDescription, at path: String) -> String? {
    if option.isFlag { return nil }
    let patterns = option.spellings.map { "\(path):\($0)" }.joined(separator: " | ")
    let more = option.repetition == .list ? " more=1" : ""
    return "    \(patterns)) \(bashKind(option.offered))\(more) ;;"
  }

  private func bashArguments(_ place: CompletionPlace) -> [String] {
    place.arguments.enumerated().map { number, argument in
      "    \(shellQuoted(place.path)):\(argument.isRepeating ? "*" : "\(number)")) \(bashKind(argument.offered)) ;;"
    }
      + (place.visibleCommands.isEmpty
        ? []
        : [
          "    \(shellQuoted(place.path)):0) kind=words offer=("
            + shellWords(place.visibleCommands.map(\.name) + (place.path.isEmpty ? ["help"] : [])) + ") ;;"
        ])
  }

  private func bashKind(_ completion: Completion) -> String {
    switch completion {
    case .none: "kind=none"
    case .file: "kind=file"
    case .folder: "kind=folder"
    case .words(let words): "kind=words offer=(\(shellWords(words)))"
    case .values(let kind): "kind=values offer=(\(shellQuoted(kind)))"
    }
  }

  /// The function that bash calls: it reads the words before the cursor, then offers the possible next words.
  private func bashFunction(_ places: [CompletionPlace]) -> String {
    let moves = places.flatMap { place in
      place.visibleCommands.map { command in
        let patterns = ([command.name] + command.aliases).map { shellQuoted("\(place.path):\($0)") }
        return "      \(patterns.joined(separator: " | "))) path=\(shellQuoted(place.path(of: command))) ;;"
      }
    }
    let values =
      asksForValues(places)
      ? """

          values)
            while IFS= read -r word; do
              word=${word%%$'\\t'*}
              [[ $word == "$current"* ]] || continue
              COMPREPLY[${#COMPREPLY[@]}]=$word
              [[ $word == *= ]] && compopt -o nospace 2>/dev/null
            done < <("${COMP_WORDS[0]}" \(valuesCommand) "${offer[0]}" "$current" "${words[@]:0:${#words[@]}-1}" 2>/dev/null) ;;
      """ : ""
    return """
      _\(identifier)() {
        local path= waiting= ended= current= kind= more= word index count=0
        local words=() offer=()
        # Bash splits words at = and :, which are put together again here.
        for ((index = 1; index <= COMP_CWORD; index++)); do
          word=${COMP_WORDS[index]}
          if ((${#words[@]} > 0)) && [[ $word == [=:]* || ${COMP_WORDS[index - 1]} == [=:] ]]; then
            words[${#words[@]} - 1]+=$word
          else
            words[${#words[@]}]=$word
          fi
        done
        ((${#words[@]} > 0)) && current=${words[${#words[@]} - 1]}
        for ((index = 0; index < ${#words[@]} - 1; index++)); do
          word=${words[index]}
          if [[ -n $waiting && $word != -?* ]]; then
            _\(identifier)_option "$path" "$waiting" && [[ -n $more ]] || waiting=
            continue
          fi
          waiting=
          case "$ended$word" in
            --) ended=1 && continue ;;
            --*=*) continue ;;
            -?*) _\(identifier)_option "$path" "$word" && waiting=$word; continue ;;
          esac
          case "$path:$word" in
      \(moves.lines)
            :help) ;;
            *) ((count++)) ;;
          esac
        done
        if [[ -n $waiting && $current != -?* ]]; then
          _\(identifier)_option "$path" "$waiting"
        elif [[ -z $ended && $current == --*=* ]]; then
          _\(identifier)_option "$path" "${current%%=*}" || return 0
          current=${current#*=}
        elif [[ -z $ended && $current == -* ]]; then
          kind=words
          _\(identifier)_options "$path"
        else
          _\(identifier)_argument "$path" "$count"
        fi
        COMPREPLY=()
        case $kind in
          words) for word in "${offer[@]}"; do [[ $word == "$current"* ]] && COMPREPLY[${#COMPREPLY[@]}]=$word; done ;;
          file) while IFS= read -r word; do COMPREPLY[${#COMPREPLY[@]}]=$word; done < <(compgen -f -- "$current") ;;
          folder) while IFS= read -r word; do COMPREPLY[${#COMPREPLY[@]}]=$word; done < <(compgen -d -- "$current") ;;\(values)
        esac
        [[ $kind == file || $kind == folder ]] && compopt -o filenames 2>/dev/null
        return 0
      }
      """
  }
}

extension [String] {
  var lines: String { joined(separator: "\n") }
}
