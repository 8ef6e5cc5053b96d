import { createStore, del, entries, get, set } from 'idb-keyval';
import type { Image } from '../../server/bridge/events.ts';

/** A prompt that no proxy has acknowledged yet, or that was refused. */
export interface KeptPrompt {
	id: string;
	/** Null while its session has no name. */
	session: string | null;
	text: string;
	images: Image[];
	when: 'steer' | 'followUp';
	/** Why it was refused; empty when nothing is known of it yet. */
	error: string;
}

const prompts = createStore('holdfast-prompts', 'prompts');
const images = createStore('holdfast-drafts', 'images');
const textKey = (session: string | null) => `draft:${session ?? 'new'}`;
const imageKey = (session: string | null) => session ?? 'new';

/**
 * What a person wrote and nobody has taken yet, kept in this browser over a reload or a crash.
 * A browser that refuses to keep anything (private mode, full disk) loses that and nothing else.
 */
export const kept = {
	keepPrompt: (prompt: KeptPrompt) => set(prompt.id, prompt, prompts).catch(ignore),

	forgetPrompt: (id: string) => del(id, prompts).catch(ignore),

	/** The prompts of a session, oldest first. */
	async prompts(session: string | null): Promise<KeptPrompt[]> {
		const all = await entries<string, KeptPrompt>(prompts).catch(() => []);
		return all.map(([, prompt]) => prompt).filter((prompt) => prompt.session === session);
	},

	/** The text of a draft is kept at once, so that not even a crash takes its last word. */
	keepText(session: string | null, text: string) {
		try {
			if (text === '') localStorage.removeItem(textKey(session));
			else localStorage.setItem(textKey(session), text);
		} catch (error) {
			ignore(error);
		}
	},

	text: (session: string | null) => localStorage.getItem(textKey(session)) ?? '',

	keepImages: (session: string | null, value: Image[]) =>
		(value.length === 0
			? del(imageKey(session), images)
			: set(imageKey(session), value, images)
		).catch(ignore),

	images: async (session: string | null): Promise<Image[]> =>
		(await get<Image[]>(imageKey(session), images).catch(() => undefined)) ?? [],
};

function ignore(error: unknown) {
	console.warn('This browser keeps no drafts:', error);
}
