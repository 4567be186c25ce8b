/** In seconds. Apart from what uses them, which loads a library. */

/** Identity providers issue tokens for a day at most, unless they are told otherwise. */
export const DEFAULT_TOKEN_MAX_AGE_SECONDS = 86_400;
/** Of keys at a URL. */
export const DEFAULT_KEY_REFRESH_SECONDS = 300;
export const DEFAULT_KEY_MAX_AGE_SECONDS = 86_400;
