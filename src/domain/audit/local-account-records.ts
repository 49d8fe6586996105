const PERSON = { from: 'users t where t.id = $1', owner: 'id', name: 'name' };

/** Columns of local accounts that entries show: never a hash, and of a key only that it is there. */
export const LOCAL_ACCOUNT_RECORDS = {
  invitation: { ...PERSON, fields: { expiresAt: '(select i.expires_at from invitations i where i.user_id = t.id)' } },
  password: { ...PERSON, fields: { changedAt: '(select p.changed_at from passwords p where p.user_id = t.id)' } },
  passkey: { from: 'passkeys t where t.id = $1', owner: 'user_id', name: 'name', fields: { name: 'name' } },
};
