#if !Pictures
  /// Returns `nil`: without the trait `Pictures` no picture is decoded, and photos are stored without thumbnails.
  func systemDecoder(_ kind: PictureKind, _ wishes: PictureOptions) -> (any PictureDecoder)? { nil }
#endif
