import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';

/** How people sign in here without an identity provider, as the operator's file says (docs/guide/sign-in.md). */
export interface OwnSignIn {
  /** Invitations, passwords and passkeys. */
  isLocalOn: boolean;
}

interface Given {
  localAccounts?: boolean;
}

/** Members of the operator's file beside `providers`. */
export const OWN_MEMBERS = { localAccounts: { type: 'boolean' } };

const validate = new Ajv().compile<Given>({ type: 'object', properties: OWN_MEMBERS });

/** Without a file, people may be invited. `readProviders` has reported what is wrong in the file. */
export async function readOwnSignIn(file: string | null): Promise<OwnSignIn> {
  const given: unknown = file === null ? {} : JSON.parse(await readFile(file, 'utf8'));
  if (!validate(given)) throw new Error(`the sign-in file ${file}: ${validate.errors?.[0]?.message}`);
  return { isLocalOn: given.localAccounts ?? true };
}
