/// The style sheet of all pages: readable at 360 pixels, in light and dark mode, with visible focus. Its colours have a contrast of
/// at least 4.5 (WCAG 2.1, 1.4.3).
enum StyleSheet {
  static let text = """
    :root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --soft: #f2f4f6; --line: #8a929c; --link: #0b57d0;
      --quiet: #57606a; --bad: #b3261e; --warn: #7a4b00; --good: #14632b; --mark: #fff1c2; }
    @media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --back: #14171b; --soft: #20252b; --line: #6b7580;
      --link: #8ab4f8; --quiet: #a9b2bc; --bad: #ff8a80; --warn: #ffcc80; --good: #81d49a; --mark: #4a3d12; } }
    * { box-sizing: border-box; }
    body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
    a { color: var(--link); }
    :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
    header { background: var(--soft); padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
    header ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: .25rem 0; padding: 0; }
    header a { display: inline-block; padding: .25rem 0; }
    a[aria-current] { font-weight: bold; color: var(--text); }
    .site { margin: 0; font-weight: bold; overflow-wrap: anywhere; }
    .standing, .quiet { color: var(--quiet); font-weight: normal; }
    .skip { position: absolute; left: -100vw; }
    .skip:focus { position: static; }
    main { padding: 0 1rem 2rem; max-width: 100rem; }
    h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; }
    .scroll { overflow-x: auto; max-width: 100%; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
    caption { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
    th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
    td bdi { display: inline-block; max-width: 24rem; overflow-wrap: anywhere; white-space: pre-wrap; }
    td.number { text-align: right; }
    td.differs, tr.decide th { background: var(--mark); }
    dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: .5rem 1.5rem; }
    dt { color: var(--quiet); font-size: .875rem; } dd { margin: 0; overflow-wrap: anywhere; }
    dd bdi { white-space: pre-wrap; }
    pre { background: var(--soft); padding: .5rem; overflow: auto; max-width: 100%; }
    form.filter, fieldset { border: 1px solid var(--line); padding: .75rem; margin: .75rem 0; min-width: 0; }
    label { display: inline-block; max-width: 100%; margin: .125rem .75rem .125rem 0; }
    input, select, textarea, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
      padding: .25rem .5rem; max-width: 100%; }
    button { background: var(--soft); cursor: pointer; }
    .notice { background: var(--mark); padding: .5rem; border-left: 4px solid var(--warn); }
    .bad { color: var(--bad); } .warn { color: var(--warn); } .good { color: var(--good); }
    .invisible { color: var(--bad); font-size: .75rem; border: 1px solid var(--bad); padding: 0 .2rem; }
    .tree ul { border-left: 2px solid var(--line); margin: 0; padding-left: 1rem; list-style: none; }
    .photos { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; list-style: none; padding: 0; }
    .photos img { width: 100%; height: 9rem; object-fit: contain; background: var(--soft); }
    .photos p { margin: 0; overflow-wrap: anywhere; }
    figure { margin: .75rem 0; }
    svg { max-width: 100%; height: auto; } svg text { fill: var(--text); font-size: 11px; }
    svg .bar { fill: var(--link); } svg .failed { fill: var(--bad); } svg .axis { stroke: var(--line); }
    nav.pages { margin: .75rem 0; display: flex; gap: 1rem; }
    """
}
