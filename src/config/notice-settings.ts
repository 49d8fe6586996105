import { resolve } from 'node:path';
import { asGiven, optional } from './setting.ts';

/** The operator's part in notices: a mail server, and where releases are kept. */
export const NOTICES = {
  /** Null: this server sends no mail. */
  mailFile: optional({
    variable: 'PODYARD_MAIL',
    flag: 'mail',
    takes: '<file>',
    shownDefault: 'no mail',
    parse: (_name, text) => resolve(text),
    page: 'The mail server that [notices](guide/notices.md) are sent by, as JSON',
    help: 'the mail server that notices are sent by, as JSON',
    chart: { value: 'mailSecret', as: 'template' },
  }),
  /** Null: newer versions are not looked for. */
  releases: optional({
    variable: 'PODYARD_UPGRADE_FROM',
    flag: 'upgradeFrom',
    takes: '<place>',
    shownDefault: 'nowhere',
    parse: asGiven,
    page: 'Directory or URL with releases of Podyard: once a day, the newest there is compared with this one for [notices](guide/notices.md)',
    help: 'directory or URL of releases, looked at for notices of a newer version',
  }),
};
