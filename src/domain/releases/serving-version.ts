/**
 * The version of the release that serves an endpoint `e`: the newest, or an earlier one after the newest failed its trial. New
 * workers start on it, and others are outdated.
 */
export const SERVING_VERSION = 'coalesce(e.serving_version, e.version)';
