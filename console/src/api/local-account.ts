import { signIn } from './session.ts';
import { call, post } from './sign-in-calls.ts';

/** How the reader signs in here without a provider. */
export interface LocalAccount {
  hasPassword: boolean;
  /** Changing it takes no password now: the sign-in is fresh. */
  isProven: boolean;
  passkeys: OwnPasskey[];
}

export interface OwnPasskey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}

export interface Invited {
  name: string;
  email: string | null;
  expiresAt: string;
}

type Secrets = Parameters<typeof signIn>[0];

export async function signInWithPassword(login: string, password: string): Promise<void> {
  signIn((await post('password', { login, password })) as Secrets);
}

/** Lets the browser ask for a passkey. Throws what the browser says if there is none, or the person cancels. */
export async function signInWithPasskey(): Promise<void> {
  const optionsJSON = (await post('passkey/options', {})) as never;
  const { startAuthentication } = await import('@simplewebauthn/browser');
  signIn((await post('passkey', await startAuthentication({ optionsJSON }))) as Secrets);
}

export async function readInvitation(secret: string): Promise<Invited> {
  return (await post('invitation', { secret })) as Invited;
}

/** Sets the password of an invited user, and signs in as them. */
export async function acceptInvitation(secret: string, password: string): Promise<void> {
  signIn((await post('invitation/accept', { secret, password })) as Secrets);
}

export async function readLocalAccount(headers: Record<string, string>): Promise<LocalAccount> {
  return (await call('account', { headers })) as LocalAccount;
}

/** `current`: empty soon after signing in. */
export async function changePassword(current: string, password: string): Promise<void> {
  await post('password/change', { current, password });
}

/** Lets the browser make a passkey, and stores its public half. */
export async function addPasskey(name: string, current: string): Promise<void> {
  const optionsJSON = (await post('passkeys/options', { current })) as never;
  const { startRegistration } = await import('@simplewebauthn/browser');
  await post('passkeys', { name, response: await startRegistration({ optionsJSON }) });
}

export async function renamePasskey(id: string, name: string): Promise<void> {
  await post('passkeys/rename', { id, name });
}

export async function removePasskey(id: string): Promise<void> {
  await post('passkeys/remove', { id });
}

/** Browsers have passkeys for names of hosts only, over https or on this machine. */
export function canUsePasskeys(): boolean {
  return typeof PublicKeyCredential !== 'undefined' && !/^\[|^[\d.]+$/.test(location.hostname);
}
