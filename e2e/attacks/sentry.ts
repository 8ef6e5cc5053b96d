import type { BrowserContext, Page } from 'playwright';

/** Paths that our own page asks for. */
const OWN = /^\/($|\?|assets\/|icon\.svg$|api\/login$)/;

/**
 * Watches everything in a browser profile that a text could bring about: that `window.pwned` is set,
 * that something of it becomes part of a page, a request, a navigation, a window, a dialog.
 */
export class Sentry {
	#found = new Set<string>();
	#pages = 0;
	#origin: string;

	constructor(origin: string) {
		this.#origin = origin;
	}

	async watch(context: BrowserContext) {
		await context.exposeBinding('breach', (_source, what: string) => void this.#found.add(what));
		await context.addInitScript(inPage, this.#origin);
		context.on('request', (request) => {
			const { origin, pathname, search, protocol } = new URL(request.url());
			if (protocol === 'data:') return;
			if (origin !== this.#origin) this.#found.add(`a request to ${request.url().slice(0, 80)}`);
			else if (!OWN.test(pathname + search)) this.#found.add(`a request for ${pathname}`);
		});
		context.on('page', (page) => {
			if (++this.#pages > 1) this.#found.add('a new window');
			let documents = 0;
			page.on('domcontentloaded', () => {
				if (++documents > this.#expected) this.#found.add('a navigation');
			});
			page.on('dialog', (dialog) => {
				this.#found.add('a dialog');
				void dialog.dismiss();
			});
		});
		context.on('weberror', (event) => this.#found.add(`an exception: ${event.error().message}`));
		// What only the policy keeps from running has come too far.
		context.on('console', (message) => {
			if (/Content.Security.Policy|Trusted ?Type/i.test(message.text())) {
				this.#found.add(message.text().slice(0, 120));
			}
		});
	}

	#expected = 1;

	/** Goes somewhere, or loads again, which is no doing of a text. */
	async go(page: Page, where: string) {
		this.#expected++;
		await page.goto(where);
	}

	sees(what: string) {
		return this.#found.has(what);
	}

	/** What was found since it was asked last. */
	async take(page: Page): Promise<string> {
		// What a page has said so far has arrived once it answers.
		await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
		const found = [...this.#found].join('; ');
		this.#found.clear();
		return found;
	}
}

/** Runs in each document before anything else does. */
function inPage(origin: string) {
	const breach = (what: string) =>
		(window as unknown as { breach(what: string): void }).breach(what.slice(0, 200));
	Object.defineProperty(window, 'pwned', { set: () => breach('window.pwned was set') });
	Object.defineProperty(Object.prototype, 'pwned', {
		set: () => breach('a prototype was changed'),
		configurable: true,
	});

	const never =
		'iframe, frame, frameset, object, embed, base, template, math, video, audio, img, style, meta, portal, marquee, dialog, button[form], [popover], [is]';
	const inspect = (element: Element) => {
		const tag = element.outerHTML.slice(0, 100);
		if (element.matches(never)) breach(`an element: ${tag}`);
		if (element.matches('svg') && !element.closest('.brand')) breach(`an element: ${tag}`);
		if (element.matches('script, link')) {
			const { src, href, textContent } = element as HTMLScriptElement & HTMLLinkElement;
			if (textContent !== '' || !(src ?? href).startsWith(`${origin}/assets/`)) {
				breach(`an element: ${tag}`);
			}
		}
		for (const name of element.getAttributeNames()) {
			if (/^on|^srcdoc$|action$|^ping$|^xlink|^srcset$|^name$|^autofocus$/.test(name)) {
				breach(`an attribute: ${tag}`);
			}
		}
		if (/url|position|expression|image/.test(element.getAttribute('style') ?? '')) {
			breach(`a style: ${tag}`);
		}
		if (element instanceof HTMLAnchorElement && element.href !== '') {
			const foreign = new URL(element.href).origin !== origin;
			if (!['http:', 'https:', 'mailto:'].includes(element.protocol)) breach(`a link: ${tag}`);
			if (foreign && element.rel !== 'noopener noreferrer') breach(`a link: ${tag}`);
			if (foreign && element.target !== '_blank') breach(`a link: ${tag}`);
		}
	};
	addEventListener('DOMContentLoaded', () => {
		new MutationObserver((changes) => {
			for (const { target, addedNodes } of changes) {
				if (target instanceof Element) inspect(target);
				for (const node of addedNodes) {
					if (!(node instanceof Element)) continue;
					inspect(node);
					for (const inner of node.querySelectorAll('*')) inspect(inner);
				}
			}
		}).observe(document.documentElement, { subtree: true, childList: true, attributes: true });
	});
}
