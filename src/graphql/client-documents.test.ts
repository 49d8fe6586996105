import { readFileSync } from 'node:fs';
import { getOperationAST, Kind, parse, type SelectionNode } from 'graphql';
import { expect, test } from 'vitest';
import type { ClientDocument } from '../../test/conformance/client-document.ts';
import { DOCUMENTS, UNSUPPORTED } from '../../test/conformance/client-documents.ts';
import { Documents } from './documents.ts';
import { createSchema } from './schema.ts';

/** docs/interface/graphql.md, "Clients" */
const documents = new Documents(createSchema(), true);
const titled = (list: readonly ClientDocument[]) =>
  list.map((document) => [`${document.client} ${document.version}: ${document.query.slice(0, 60)}`, document] as const);

test.each(titled(DOCUMENTS))('valid: %s', (_, { query }) => {
  expect(documents.prepare(query).errors).toBeUndefined();
});

test.each(titled(UNSUPPORTED))('not supported, as documented: %s', (_, { query }) => {
  expect(documents.prepare(query).errors).toBeDefined();
  const page = readFileSync(new URL('../../docs/interface/graphql.md', import.meta.url), 'utf8');
  const clients = /\n## Clients\n(.*?)\n## /s.exec(page)![1];
  expect(clients).toContain(`\`${operationOf(query)}\``);
});

/** The first field, or that of `myself`. */
function operationOf(query: string): string {
  const nameOf = (selection: SelectionNode | undefined): string => {
    if (selection?.kind !== Kind.FIELD) throw new Error('the document begins with no field');
    const { name, selectionSet } = selection;
    return name.value === 'myself' ? nameOf(selectionSet?.selections[0]) : name.value;
  };
  return nameOf(getOperationAST(parse(query))?.selectionSet.selections[0]);
}
