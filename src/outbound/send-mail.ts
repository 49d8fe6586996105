import type { MailSettings } from './read-mail-settings.ts';

/** Each step of a delivery; together a delivery may take three of them. */
const STEP_TIMEOUT_MS = 10_000;

export interface Mail {
  /** The same for each try: mail servers drop what they have seen. */
  id: string;
  to: string;
  subject: string;
  text: string;
}

/** Sends a mail. Rejects with a sentence that says what the server answered, or that it did not, without the password. */
export async function sendMail(
  settings: MailSettings,
  { id, to, subject, text }: Mail,
  signal: AbortSignal,
): Promise<void> {
  const { host, port, security, login, from, ca } = settings;
  const { createTransport } = await import('nodemailer'); // loaded only where mail is sent
  const transport = createTransport({
    ...{ host, port, secure: security === 'TLS', requireTLS: security === 'STARTTLS', ignoreTLS: security === 'NONE' },
    ...(login && { auth: { user: login.user, pass: login.password } }),
    ...(ca !== null && { tls: { ca } }),
    ...{ connectionTimeout: STEP_TIMEOUT_MS, greetingTimeout: STEP_TIMEOUT_MS, socketTimeout: STEP_TIMEOUT_MS },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const close = () => transport.close();
  signal.addEventListener('abort', close);
  try {
    const headers = { 'auto-submitted': 'auto-generated' };
    await Promise.race([
      transport.sendMail({ from, to: { name: '', address: to }, subject, text, messageId: `<${id}@podyard>`, headers }),
      rejectOnAbort(signal),
    ]);
  } catch (error) {
    throw new Error(`the mail server ${reasonOf(error, login?.password)}`, { cause: error });
  } finally {
    signal.removeEventListener('abort', close);
    transport.close();
  }
}

/** Quotes the server's answer without addresses: its readers may not be operators. */
function reasonOf(error: unknown, password: string | undefined): string {
  const { response, code, message } = error as { response?: string; code?: string; message?: string };
  if (response === undefined) return `did not take it (${code ?? message ?? 'unknown'})`;
  const answer = response.replaceAll(/\s+/g, ' ').slice(0, 300);
  return `answered: ${password === undefined ? answer : answer.replaceAll(password, '***')}`;
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(new Error('it took too long'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
