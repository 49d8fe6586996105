import { expect, test } from 'vitest';
import { formatDate } from '../../ui/text/format.ts';
import { type AuditEntry, actorText, auditQuery, changeTexts, operationText, recordText } from './audit-values.ts';

test('changes are told in words, without hidden values', () => {
  const changes: AuditEntry['changes'] = {
    workers: [
      { min: 0, max: 3 },
      { min: 0, max: 7 },
    ],
    env: [
      { TOKEN: '***', OLD: '***' },
      { TOKEN: '***', NEW: '***' },
    ],
    image: [null, 'a/b:1'],
    args: ['', 'serve'],
    ports: [['8080/http'], []],
    templateId: ['t1', null],
    value: ['***', '***'],
  };
  expect(changeTexts({ changes })).toEqual([
    'workers.max: 3 → 7',
    'env.TOKEN changed',
    'env.OLD removed',
    'env.NEW set',
    'image: a/b:1',
    'args: empty → serve',
    'ports: 8080/http → none',
    'templateId: t1 → nothing',
    'value changed',
  ]);
  expect(changeTexts({ changes: { madeBy: [null, 'KEY'] } })).toEqual(['signed in with an API key']);
  expect(changeTexts({ changes: { madeBy: ['PASSKEY', null] } })).toEqual(['was signed in with a passkey']);
  const at = '2026-12-05T14:28:47.53812+00:00';
  expect(changeTexts({ changes: { expiresAt: [at, null] } })).toEqual([`expiresAt: ${formatDate(at)} → nothing`]);
  expect(formatDate(at)).not.toContain('47.5');
  expect(changeTexts({ changes: null })).toEqual([]);
});

test('operations and who did them are named', () => {
  expect(operationText('endpoint.roll-back')).toBe('Endpoint: roll back');
  const entry = { actorKind: 'key', actorName: 'alice', actorId: 'u1', keyName: 'ci', keyId: 'k1' } as AuditEntry;
  expect(actorText(entry)).toBe('alice, key ci');
  expect(actorText({ ...entry, actorName: null, keyName: null })).toBe('u1 (deleted), key k1');
  expect(actorText({ ...entry, actorKind: 'session', keyId: null, keyName: null })).toBe('alice');
  expect(actorText({ ...entry, actorKind: 'system' })).toBe('Podyard');
});

test('a record has its name, and a session that of its browser', () => {
  const entry = { operation: 'endpoint.update', recordName: 'chat', recordId: 'e1' } as AuditEntry;
  const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36';
  expect(recordText(entry)).toBe('chat');
  expect(recordText({ ...entry, recordName: null })).toBe('e1');
  expect(recordText({ ...entry, operation: 'session.create', recordName: agent })).toBe('Chrome on Linux');
});

test('filters become the query; an admin sees everybody unless they want their own', () => {
  const none = { operation: '', recordId: '', actorId: '', outcome: '', days: '', own: '' };
  expect(auditQuery(none, false, 0)).toEqual({});
  expect(auditQuery(none, true, 0)).toEqual({ userId: 'all' });
  const now = Date.parse('2026-11-08T10:00:30Z');
  expect(auditQuery({ ...none, operation: ' endpoint ', actorId: 'u1 ', days: '7', own: 'yes' }, true, now)).toEqual({
    operation: 'endpoint',
    actorId: 'u1',
    since: '2026-11-01T10:00:00.000Z',
  });
});
