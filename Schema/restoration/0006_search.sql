-- Full-text search over the texts that a user searches for. FieldVault keeps these tables up to date with
-- triggers that it derives from them; they hold an index only, the words stay in the tables themselves.

CREATE VIRTUAL TABLE CompanySearch USING fts5(
  name, content='OfflineCompany', content_rowid='companyId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE UserSearch USING fts5(
  email, firstName, lastName, role, content='OfflineUser', content_rowid='userId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE PropertySearch USING fts5(
  address, city, state, zipCode, content='OfflineProperty', content_rowid='propertyId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE ProjectSearch USING fts5(
  title, projectNumber, content='OfflineProject', content_rowid='projectId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE LocationSearch USING fts5(
  title, content='OfflineLocation', content_rowid='locationId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE RoomSearch USING fts5(
  title, roomType, level, content='OfflineRoom', content_rowid='roomId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE MaterialSearch USING fts5(
  name, category, content='OfflineMaterial', content_rowid='materialId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE EquipmentSearch USING fts5(
  type, brand, model, serialNumber, content='OfflineEquipment', content_rowid='equipmentId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE DamageSearch USING fts5(
  title, cause, description, content='OfflineDamage', content_rowid='damageId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE WorkScopeSearch USING fts5(
  title, description, content='OfflineWorkScope', content_rowid='workScopeId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE MoistureLogSearch USING fts5(
  location, depth, content='OfflineMoistureLog', content_rowid='logId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE AlbumSearch USING fts5(
  title, content='OfflineAlbum', content_rowid='albumId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE PhotoSearch USING fts5(
  fileName, content='OfflinePhoto', content_rowid='photoId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE NoteSearch USING fts5(
  title, body, content='OfflineNote', content_rowid='noteId', tokenize='unicode61 remove_diacritics 2');
