/** Names the account that a request is about, by id or name: a team of the caller's, or for those who may read all, any account. */
export const TEAM_HEADER = 'podyard-team';
