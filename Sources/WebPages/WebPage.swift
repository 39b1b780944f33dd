/// A page of the site, without the parts that all pages share.
package struct WebPage: Sendable {
  /// The title, which is also the first heading.
  package let title: String
  /// The content behind the heading.
  package let body: HTML
  /// The HTTP status.
  package var status = 200
  /// The seconds after which a browser loads the page again; `nil` for a page that stays.
  package var refreshSeconds: Int?
  /// The result of the form that led to the page, as a sentence.
  package var notice: String?

  package init(_ title: String, status: Int = 200, notice: String? = nil, _ body: HTML) {
    (self.title, self.status, self.notice, self.body) = (title, status, notice, body)
  }
}

/// The parts that all pages of a site share.
package struct PageFrame: Sendable {
  /// The name of the site, such as the file name of a vault.
  let name: String
  /// Whether forms may change something, such as "read-only".
  let standing: String
  /// The pages that each page links to.
  let pages: [(title: String, link: Link)]

  package init(name: String, standing: String, pages: [(title: String, link: Link)]) {
    (self.name, self.standing, self.pages) = (name, standing, pages)
  }

  /// The path of the style sheet.
  static let styleLink = Link("/style.css")

  /// Returns the source of a page.
  /// - Parameter hasPages: whether the reader may see other pages.
  func source(of page: WebPage, hasPages: Bool) -> String {
    let items = pages.map { entry -> HTML in
      let isCurrent = entry.title == page.title
      return "<li><a href=\"\(entry.link)\"\(isCurrent ? " aria-current=\"page\"" : "" as HTML)>\(entry.title)</a></li>"
    }
    let navigation: HTML =
      hasPages
      ? "<a class=\"skip\" href=\"#content\">Skip to the content</a><nav aria-label=\"Pages\"><ul>\(items)</ul></nav>"
      : ""
    let notice: HTML = page.notice.map { "<p class=\"notice\" role=\"status\">\($0)</p>" } ?? ""
    let html: HTML = """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>\(page.title) - \(name)</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <link rel="stylesheet" href="\(Self.styleLink)"></head><body>
      <header><p class="site">\(HTML.value(name)) <span class="standing">\(standing)</span></p>\(navigation)</header>
      <main id="content" tabindex="-1"><h1>\(HTML.value(page.title))</h1>
      \(notice)\(page.body)
      </main></body></html>
      """
    return html.source
  }
}

extension HTML {
  /// A table that can be scrolled sideways, also by keyboard.
  /// - Parameters:
  ///   - caption: the content of the table; read by screen readers and not shown.
  ///   - titles: the titles of the columns.
  ///   - rows: the rows, of `<tr>` elements.
  package static func table(_ caption: String, _ titles: [HTML], _ rows: [HTML]) -> HTML {
    let heads = titles.map { title -> HTML in "<th scope=\"col\">\(title)</th>" }
    return """
      <div class="scroll" role="region" aria-label="\(caption)" tabindex="0"><table><caption>\(caption)</caption>
      <thead><tr>\(heads)</tr></thead><tbody>\(rows)</tbody></table></div>
      """
  }

  /// A row of a table.
  package static func row(_ cells: [HTML]) -> HTML { "<tr>\(cells.map { cell -> HTML in "<td>\(cell)</td>" })</tr>\n" }

  /// A list of names and values.
  package static func definitions(_ entries: [(name: String, value: HTML)]) -> HTML {
    let parts = entries.map { entry -> HTML in "<div><dt>\(entry.name)</dt><dd>\(entry.value)</dd></div>" }
    return "<dl>\(parts)</dl>"
  }

  /// A section with a heading.
  package static func section(_ title: String, _ body: HTML) -> HTML {
    "<section><h2>\(title)</h2>\(body)</section>\n"
  }

  /// A link.
  package static func link(_ link: Link, _ text: HTML) -> HTML { "<a href=\"\(link)\">\(text)</a>" }

  /// A form that changes something.
  /// - Parameter token: the token of the session; see ``SessionGate``.
  package static func form(_ action: Link, token: String, _ body: HTML) -> HTML {
    """
    <form method="post" action="\(action)"><input type="hidden" name="\(WebCall.tokenField)" value="\(token)">\(body)</form>
    """
  }
}
