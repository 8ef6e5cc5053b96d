/**
 * When things are painted: what was to be done in the frame that shows them is done. By the clock
 * that pages and Node share, in ms.
 */
import type { Page } from 'playwright';

/** Runs in every page before its own scripts. */
export async function teachPainted(page: Page) {
	await page.addInitScript(() => {
		const nextFrame = window.requestAnimationFrame.bind(window);
		const afterwards = (then: () => void) => {
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = then;
			port2.postMessage(null);
		};
		// What a page changes within a frame is painted at the end of that one, not of the next.
		let inFrame = false;
		window.requestAnimationFrame = (callback) =>
			nextFrame((now) => {
				if (!inFrame) afterwards(() => (inFrame = false));
				inFrame = true;
				callback(now);
			});
		const painted = () =>
			new Promise<number>((resolve) => {
				const done = () => afterwards(() => resolve(performance.timeOrigin + performance.now()));
				if (inFrame) done();
				else nextFrame(done);
			});
		Object.assign(window, { painted });
	});
}

interface Taught {
	painted(): Promise<number>;
}

/**
 * Sends a prompt and waits until Pi has come to rest and that is painted; tells when the first and
 * the last change of an answer was.
 */
export function answered(page: Page, prompt: string): Promise<{ first: number; last: number }> {
	return page.evaluate(async (prompt) => {
		const { painted } = window as unknown as Taught;
		const status = document.querySelector('[role=status]')!;
		let first = 0;
		let last = 0;
		let waiting = false;
		const inAnswer = ({ target, addedNodes }: MutationRecord) =>
			(target instanceof Element ? target : target.parentElement)?.closest(
				'[data-role=assistant]',
			) ||
			[...addedNodes].some(
				(node) => node instanceof Element && node.matches('[data-role=assistant]'),
			);
		const answer = new MutationObserver((records) => {
			if (waiting || !records.some(inAnswer)) return;
			waiting = true;
			void painted().then((at) => {
				waiting = false;
				first ||= at;
				last = at;
			});
		});
		const everything = { childList: true, subtree: true, characterData: true };
		answer.observe(document.querySelector('[role=log]')!, everything);

		const rested = new Promise<void>((resolve) => {
			let busy = false;
			const look = new MutationObserver(() => {
				if (status.textContent !== 'Pi is ready.') busy = true;
				else if (busy) {
					look.disconnect();
					resolve();
				}
			});
			look.observe(status, everything);
		});
		const message = document.querySelector('textarea')!;
		message.value = prompt;
		message.dispatchEvent(new InputEvent('input', { bubbles: true }));
		await painted();
		[...document.querySelectorAll('button')]
			.find((button) => button.textContent?.trim() === 'Send')!
			.click();
		await rested;
		await painted();
		answer.disconnect();
		return { first, last };
	}, prompt);
}

/** Has the page, not yet loaded, wait for a text at the end of the conversation, in sight. */
export async function expectPainted(page: Page, text: string) {
	await teachPainted(page);
	await page.addInitScript((text) => {
		const { painted } = window as unknown as Taught;
		const look = () => {
			const last = [...document.querySelectorAll('[data-role=assistant]')].at(-1);
			if (!last?.textContent?.includes(text)) return;
			observer.disconnect();
			const shown = async (): Promise<number> => {
				const at = await painted();
				const { bottom, height } = last.getBoundingClientRect();
				return height > 0 && bottom <= window.innerHeight ? at - performance.timeOrigin : shown();
			};
			Object.assign(window, { shown: shown() });
		};
		const observer = new MutationObserver(look);
		observer.observe(document, { childList: true, subtree: true, characterData: true });
	}, text);
}

/** How long after the beginning of the navigation that was painted, in ms. */
export const shownAfter = async (page: Page): Promise<number> => {
	await page.waitForFunction(() => 'shown' in window, undefined, { timeout: 60_000 });
	return page.evaluate(() => (window as unknown as { shown: Promise<number> }).shown);
};
