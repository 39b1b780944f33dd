-- Full-text search over the texts that a user searches for. FieldVault keeps these tables up to date with
-- triggers that it derives from them; they hold an index only, the words stay in the tables themselves.

CREATE VIRTUAL TABLE RifleSetupSearch USING fts5(
  name, manufacturer, model, caliber, notes, content='OfflineRifleSetup', content_rowid='rifleSetupId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE AmmunitionSearch USING fts5(
  name, manufacturer, caliber, bulletType, notes, content='OfflineAmmunition', content_rowid='ammunitionId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE AmmoLotSearch USING fts5(
  lotNumber, notes, content='OfflineAmmoLot', content_rowid='ammoLotId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE SavedLocationSearch USING fts5(
  name, description, content='OfflineSavedLocation', content_rowid='locationId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE SessionSearch USING fts5(
  notes, content='OfflineSession', content_rowid='sessionId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE DopeEntrySearch USING fts5(
  notes, content='OfflineDopeEntry', content_rowid='dopeEntryId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE ChronoSessionSearch USING fts5(
  chronographModel, notes, content='OfflineChronoSession', content_rowid='chronoSessionId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE GroupEntrySearch USING fts5(
  notes, content='OfflineGroupEntry', content_rowid='groupEntryId', tokenize='unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE GroupImageSearch USING fts5(
  caption, fileName, content='OfflineGroupImage', content_rowid='groupImageId', tokenize='unicode61 remove_diacritics 2');
