/** Of keys at a URL, in seconds. Apart from what uses them, which loads a library. */
export const DEFAULT_KEY_REFRESH_SECONDS = 300;
export const DEFAULT_KEY_MAX_AGE_SECONDS = 86_400;
