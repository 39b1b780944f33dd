import CipherSQL

extension SyncTransaction {
  /// Gives up files that the server has until the rest takes no more than `limit` bytes: whole contents first, what was used
  /// longest ago first, then thumbnails. A file stays, whatever it takes, unless the server's length and digest of it were compared.
  /// - Parameter kept: a content that has just come, because somebody asked for it.
  /// - Returns: how many files.
  func evict(downTo limit: Int64, keeping kept: String?) throws -> Int {
    // From an API that is no FieldVault server nothing comes back.
    guard try SyncSettings.value(.remoteRoutes, in: connection) == nil else { return 0 }
    var used = try AttachmentUsage.bytesUsed(in: connection)
    var count = 0
    for variant in AttachmentVariant.allCases {
      while used > limit, let (uuid, bytes) = try oldest(variant, besides: kept ?? "") {
        try AttachmentContentRow.note(.evicted, sealedBytes: nil, of: uuid, variant, in: connection)
        used -= bytes
        count += 1
      }
    }
    return count
  }

  private func oldest(_ variant: AttachmentVariant, besides kept: String) throws -> (uuid: String, bytes: Int64)? {
    let query: SQL =
      variant == .full
      ? """
      SELECT contentUuid, coalesce(fullBytes, 0) FROM AttachmentContent
      WHERE full = 'here' AND serverHasFull = 1 AND comparedFull IS NOT NULL AND contentUuid <> \(kept) ORDER BY usedAt LIMIT 1
      """
      : """
      SELECT contentUuid, coalesce(thumbnailBytes, 0) FROM AttachmentContent
      WHERE thumbnail = 'here' AND serverHasThumbnail = 1 AND comparedThumbnail IS NOT NULL AND contentUuid <> \(kept)
      ORDER BY usedAt LIMIT 1
      """
    return try connection.fetchRows(query, as: String.self, Int64.self).first.map { (uuid: $0.0, bytes: $0.1) }
  }
}

extension Vault {
  /// Removes files that the server has until the vault's limit is kept. They come back when they are asked for.
  ///
  /// **After a crash** the rows say what goes, and the next time that the vault is opened removes it.
  /// - Parameter kept: the uuid of a content whose files stay.
  /// - Returns: how many files were given up.
  @discardableResult
  public func evict(keeping kept: String? = nil) throws -> Int {
    let settings = try attachmentSettings()
    guard try attachmentUsage().bytesUsed > settings.limit else { return 0 }
    let count = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: Self.now) {
        try $0.evict(downTo: settings.limit, keeping: kept)
      }
    }
    if count > 0 { try sweepAttachments() }
    return count
  }

  /// After something was taken in: that is done, and not undone because nothing else could go. The next time tries again.
  func evictIfPossible(keeping kept: String? = nil) { _ = try? evict(keeping: kept) }
}
