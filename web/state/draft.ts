const key = (session: string | null) => `draft:${session ?? 'new'}`;

/** Unsent text, kept for each session over a reload. */
export const draft = {
	load(session: string | null): string {
		return localStorage.getItem(key(session)) ?? '';
	},

	save(session: string | null, text: string) {
		if (text === '') localStorage.removeItem(key(session));
		else localStorage.setItem(key(session), text);
	},
};
