import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { type Provider, toProvider } from '../read-providers.ts';
import { OWN_MEMBERS } from './own-members.ts';
import type { ProxySettings } from './proxy-sign-in.ts';

/** How people sign in here without an identity provider, as the operator's file says (docs/guide/sign-in.md). */
export interface OwnSignIn {
  /** Invitations, passwords and passkeys. */
  isLocalOn: boolean;
  /** The proxy in front of the server that signs people in; null: none does. */
  proxy: ProxySettings | null;
}

interface Given {
  localAccounts?: boolean;
  providers?: readonly Pick<Provider, 'name'>[];
  proxy?: Pick<ProxySettings, 'header'> &
    Partial<Pick<ProxySettings, 'title' | 'emailHeader' | 'nameHeader' | 'groupsHeader' | 'assertion'>> &
    Partial<Pick<Provider, 'adminGroups' | 'userGroups' | 'joinByEmail'>>;
}

const validate = new Ajv().compile<Given>({ type: 'object', properties: OWN_MEMBERS });
/** The issuer of users that a header names. Nothing is served there. */
const HEADER_ISSUER = 'https://proxy.invalid';

/** `readProviders` has reported what is wrong in the file. */
export async function readOwnSignIn(file: string): Promise<OwnSignIn> {
  const given: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (!validate(given)) throw new Error(`the sign-in file ${file}: ${validate.errors?.[0]?.message}`);
  const { localAccounts = true, proxy, providers = [] } = given;
  // Sessions name where they began: those of the proxy would end with the provider's.
  if (providers.some(({ name }) => name === proxy?.title))
    throw new Error(`the sign-in file ${file}: proxy: a provider is named '${proxy?.title}', so give it another title`);
  return { isLocalOn: localAccounts, proxy: proxy === undefined ? null : await toProxy(proxy, file) };
}

async function toProxy(given: NonNullable<Given['proxy']>, file: string): Promise<ProxySettings> {
  const { header, title = 'the proxy', emailHeader, nameHeader, groupsHeader, assertion = null, ...groups } = given;
  const issuer = assertion?.issuer ?? HEADER_ISSUER;
  const provider = await toProvider(
    { name: 'proxy', issuer, clientId: 'none', clientSecret: 'none', title, ...groups },
    file,
  );
  return {
    ...{ title, provider, assertion, header: header.toLowerCase() },
    emailHeader: emailHeader?.toLowerCase() ?? null,
    nameHeader: nameHeader?.toLowerCase() ?? null,
    groupsHeader: groupsHeader?.toLowerCase() ?? null,
  };
}
