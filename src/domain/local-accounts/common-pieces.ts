/** Rows of keyboards, the alphabet and the digits: parts of them, in either direction, are easy to guess. */
export const SEQUENCES: readonly string[] = [
  ...['abcdefghijklmnopqrstuvwxyz', '01234567890123456789', 'qwertyuiop', 'qwertzuiop', 'azertyuiop'],
  ...['asdfghjkl', 'qsdfghjklm', 'zxcvbnm', 'yxcvbnm', 'wxcvbn', '1q2w3e4r5t6y7u8i9o0p', '1a2b3c4d5e6f7g8h9i'],
  ...['1qaz2wsx3edc4rfv5tgb6yhn7ujm', 'qazwsxedcrfvtgbyhnujm', '!@#$%^&*()', '!"§$%&/()='],
];

/** Words that people build passwords from, in lower case. */
export const COMMON_WORDS: readonly string[] = [
  ...['podyard', 'runpod', 'server', 'serverless', 'cloud', 'cluster', 'docker', 'kubernetes', 'worker', 'endpoint'],
  ...['password', 'passwort', 'passphrase', 'passcode', 'pass', 'kennwort', 'motdepasse', 'contrasena', 'wachtwoord'],
  ...['admin', 'administrator', 'root', 'user', 'guest', 'login', 'signin', 'logmein', 'letmein', 'access', 'welcome'],
  ...['willkommen', 'bienvenue', 'hello', 'hallo', 'default', 'changeme', 'changethis', 'change', 'secret', 'geheim'],
  ...['test', 'testing', 'demo', 'example', 'sample', 'temp', 'temporary', 'system', 'master', 'private', 'company'],
  ...['internet', 'computer', 'network', 'security', 'secure', 'office', 'work', 'home', 'google', 'amazon', 'github'],
  ...['iloveyou', 'love', 'lovely', 'princess', 'sunshine', 'flower', 'butterfly', 'angel', 'baby', 'family', 'mother'],
  ...['monkey', 'dragon', 'tiger', 'eagle', 'mustang', 'phoenix', 'ninja', 'pokemon', 'starwars', 'matrix', 'hunter'],
  ...['batman', 'superman', 'spiderman', 'shadow', 'killer', 'cookie', 'chocolate', 'banana', 'cheese', 'pepper'],
  ...['football', 'baseball', 'basketball', 'soccer', 'hockey', 'liverpool', 'barcelona', 'arsenal', 'chelsea'],
  ...['correct', 'horse', 'battery', 'staple', 'trustno', 'whatever', 'freedom', 'nothing', 'forever', 'summer'],
  ...['winter', 'spring', 'autumn', 'january', 'february', 'march', 'april', 'june', 'july', 'august', 'september'],
  ...['october', 'november', 'december', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
  ...['michael', 'jennifer', 'jessica', 'daniel', 'charlie', 'jordan', 'thomas', 'andrew', 'robert', 'ashley'],
  ...['the', 'and', 'for', 'you', 'this', 'that', 'is', 'my', 'your', 'new', 'one', 'two', 'three', 'abc', 'xyz'],
];
