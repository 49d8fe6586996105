/** Notices as each kind of destination takes them. Names are the users' own: none may look like a link, or call a channel together. */
import type { NoticeItem, NoticeMessage } from '../domain/notices/notice.ts';
import { showItem, titleOf } from './notice-texts.ts';

/** Returns the plain text of a mail. */
export function mailText(message: NoticeMessage, publicUrl: string): { subject: string; text: string } {
  const parts = message.items.map((item) => {
    const { title, owner, detail, advice, url } = showItem(item, publicUrl);
    const whose = owner === null ? '' : ` (of ${owner})`;
    return `${title}${whose}\n\n  ${detail}.\n  What to do: ${advice}\n  ${url}\n`;
  });
  const rest = message.more > 0 ? `And ${message.more} more: ${publicUrl}/\n\n` : '';
  const end = `-- \nPodyard at ${publicUrl}. Change what you are told: ${publicUrl}/#/notices\n`;
  return { subject: `[Podyard] ${titleOf(message)}`, text: `${parts.join('\n')}\n${rest}${end}` };
}

/** Returns the JSON of a plain webhook. */
export function webhookBody({ id, items, more }: NoticeMessage, publicUrl: string): string {
  const shown = items.map((item) => ({
    event: item.event,
    phase: item.phase,
    ...showItem(item, publicUrl),
    name: item.name,
  }));
  return JSON.stringify({ type: 'notice', id, items: shown, more });
}

/** Returns the JSON that Slack's incoming webhooks take, and Mattermost, Rocket.Chat and Discord (`/slack`) with them. */
export function slackBody(message: NoticeMessage, publicUrl: string): string {
  const lines = message.items.map((item) => {
    const { title, owner, detail, advice, url } = showItem(item, publicUrl);
    const whose = owner === null ? '' : ` (of ${owner})`;
    return `*${slackText(title + whose)}*\n${slackText(detail)}.\nWhat to do: ${slackText(advice)} <${url}|Open>`;
  });
  return JSON.stringify({ text: [...lines, ...moreLine(message)].join('\n\n') });
}

/** Returns the adaptive card that Teams' workflows take. */
export function teamsBody(message: NoticeMessage, publicUrl: string): string {
  const block = (text: string, more: object = {}) => ({
    type: 'TextBlock',
    wrap: true,
    text: teamsText(text),
    ...more,
  });
  const body = [
    block(titleOf(message), { weight: 'Bolder', size: 'Medium' }),
    ...message.items.flatMap((item) => cardOf(item, publicUrl, message.items.length > 1, block)),
    ...moreLine(message).map((line) => block(line)),
  ];
  const url = message.items.length === 1 ? showItem(message.items[0]!, publicUrl).url : `${publicUrl}/`;
  const content = {
    ...{ $schema: 'http://adaptivecards.io/schemas/adaptive-card.json', type: 'AdaptiveCard', version: '1.4', body },
    actions: [{ type: 'Action.OpenUrl', title: 'Open', url }],
  };
  const attachments = [{ contentType: 'application/vnd.microsoft.card.adaptive', content }];
  return JSON.stringify({ type: 'message', attachments });
}

type Block = (text: string, more?: object) => object;

function cardOf(item: NoticeItem, publicUrl: string, isOneOfMany: boolean, block: Block): object[] {
  const { title, owner, detail, advice } = showItem(item, publicUrl);
  const whose = owner === null ? '' : ` (of ${owner})`;
  const head = isOneOfMany || owner !== null ? [block(title + whose, { weight: 'Bolder', separator: true })] : [];
  return [...head, block(`${detail}.`), block(`What to do: ${advice}`, { isSubtle: true })];
}

function moreLine({ more }: NoticeMessage): string[] {
  return more > 0 ? [`And ${more} more.`] : [];
}

/** Slack reads `<…>` as links and mentions, others `@channel`, and all of them stars and brackets as markup. */
function slackText(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/[@*_~`[\]]/g, '$&\u200b');
}

/** Cards read a part of Markdown. */
function teamsText(text: string): string {
  return text.replace(/[\\`*_[\]()<>#@!~|]/g, '\\$&');
}
