import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/database.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import { createTemplate } from '../../domain/templates/change-template.ts';
import { listPublicTemplates } from '../../domain/templates/template-store.ts';
import { printMarkedTemplate } from './mark-template.ts';

test('an operator marks public templates of any user; none takes it back; a private one is refused', async () => {
  const database = await createTestDatabase();
  const context = { pool: database.pool, bus: { publish: () => {} } };
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  const actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] };
  const add = (name: string, isPublic: boolean) =>
    change(context, actor, createTemplate, {
      ...{ ...CONTAINER_DEFAULTS, name, image: 'an/image:1', isPublic },
      ...{ persistentMount: null, isServerless: false, category: 'NVIDIA' },
    });
  const printed: string[] = [];
  const mark = (id: string, word: string) =>
    printMarkedTemplate(context, id, word, { print: (text) => printed.push(text), note: () => {} });
  const verified = async () =>
    (await listPublicTemplates(database.pool, userId, { sources: ['verified'], limit: 9 })).map(({ id }) => id);

  const { id } = await add('shared', true);
  await mark(id, 'verified');
  expect(await verified()).toEqual([id]);
  await mark(id, 'none');
  expect(await verified()).toEqual([]);
  expect(printed).toEqual([`${id}  shared  an/image:1  verified`, `${id}  shared  an/image:1  community`]);
  await expect(mark((await add('own', false)).id, 'official')).rejects.toThrow('The template is not public');
  await expect(mark('nosuchtemplate', 'official')).rejects.toThrow("Template not found: 'nosuchtemplate'");
  await database.drop();
});
