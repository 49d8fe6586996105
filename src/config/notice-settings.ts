import { resolve } from 'node:path';
import { optional } from './setting.ts';

/** How notices leave. */
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
};
