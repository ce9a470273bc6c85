// The names of characters that are read in texts of messages, such as `&amp;`: those of HTML 4 and XML. All 2,125 of
// HTML 5 would be a tenth of what the page loads.

import { characterEntitiesHtml4 } from "character-entities-html4";

export const characterEntities: { readonly [name: string]: string } = { ...characterEntitiesHtml4, apos: "'" };
