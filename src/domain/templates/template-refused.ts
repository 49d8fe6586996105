import { Failure } from '../../core/errors.ts';

/** A template that cannot be used for what is made or changed. A bad request unless an interface has other words for it. */
export class TemplateRefused extends Failure {
  readonly reason: 'unknown' | 'otherPurpose';

  constructor(reason: TemplateRefused['reason'], detail: string) {
    super('badRequest', detail);
    this.reason = reason;
  }
}
