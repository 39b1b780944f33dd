import CipherSQL

/// A field that is read from a receipt until a user edits it, and owned by the user afterwards; see
/// `Receipt.userEditedFields`.
public enum UserEditedField: String, CaseIterable, Sendable {
  case storeName, category, warrantyMonths
}

extension Receipt {
  /// The user's tags.
  /// - Throws: `DecodingError` when the column holds anything but a JSON array of texts.
  public func tags() throws -> [String] { try userTags.decoded() }

  /// Replaces the tags.
  public mutating func setTags(_ tags: [String]) throws { userTags = try JSONText(encoding: tags) }

  /// The object keys of the images that are uploaded.
  /// - Throws: `DecodingError` when the column holds anything but a JSON array of texts.
  public func uploadedImageKeys() throws -> [String] { try imageKeys.decoded() }

  /// Replaces the object keys of the images.
  public mutating func setUploadedImageKeys(_ keys: [String]) throws { imageKeys = try JSONText(encoding: keys) }

  /// The image files that this device stores outside of the vault.
  /// - Throws: `DecodingError` when the column holds anything but a JSON array of texts.
  public func localImages() throws -> [String] { try localImagePaths.decoded() }

  /// Replaces the image files that this device stores outside of the vault.
  public mutating func setLocalImages(_ paths: [String]) throws { localImagePaths = try JSONText(encoding: paths) }

  /// The fields that the user has edited. The database maintains them: an UPDATE that changes such a field marks it,
  /// and the mark is never removed. The values of a new receipt count as read by a program.
  /// - Throws: `DecodingError` if the column is not a JSON array of texts.
  public func editedFields() throws -> Set<UserEditedField> {
    Set(try userEditedFields.decoded(as: [String].self).compactMap(UserEditedField.init))
  }

  /// Marks the values of a new receipt that the user has typed, for a form in which a receipt is entered manually.
  public mutating func markAsEdited(_ fields: Set<UserEditedField>) throws {
    let names = Set(try userEditedFields.decoded(as: [String].self)).union(fields.map(\.rawValue))
    userEditedFields = try JSONText(encoding: names.sorted())
  }
}
