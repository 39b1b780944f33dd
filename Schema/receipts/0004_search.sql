-- Full-text search over the texts that a user searches for.

CREATE VIRTUAL TABLE ReceiptSearch USING fts5(
  storeName, extractedMerchantName, ocrRawText, userNotes, userTags,
  content='OfflineReceipt', content_rowid='receiptId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE CategorySearch USING fts5(
  name, content='OfflineCategory', content_rowid='categoryId', tokenize='unicode61 remove_diacritics 2');
